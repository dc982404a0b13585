#include "core/rtt.h"

#include <gtest/gtest.h>

namespace zhinu::core {
namespace {

Instant at_us(std::int64_t us) { return Instant{} + microseconds(us); }

// Adds `count` samples of the same RTT, one a microsecond.
void add_many(RttEstimator& rtt, Instant from, int count, Duration elapsed) {
  for (int i = 0; i < count; ++i) rtt.add(from + microseconds(i), elapsed, {});
}

TEST(RttEstimator, add__before_the_first_sample) {
  const RttEstimator rtt;
  EXPECT_EQ(rtt.smoothed(), Duration{});
  EXPECT_EQ(rtt.variation(), Duration{});
  EXPECT_EQ(rtt.min(), Duration{});
  EXPECT_EQ(rtt.queue_delay(), Duration{});
}

TEST(RttEstimator, add__first_sample) {
  RttEstimator rtt;
  rtt.add(at_us(0), microseconds(100), {});
  EXPECT_EQ(rtt.smoothed(), microseconds(100));
  EXPECT_EQ(rtt.variation(), microseconds(50));
  EXPECT_EQ(rtt.min(), microseconds(100));
  EXPECT_EQ(rtt.queue_delay(), Duration{});
}

TEST(RttEstimator, add__second_sample_moves_by_an_eighth_and_a_quarter) {
  RttEstimator rtt;
  rtt.add(at_us(0), nanoseconds(80'000), {});
  rtt.add(at_us(1), nanoseconds(160'000), {});
  EXPECT_EQ(rtt.smoothed(), nanoseconds(90'000));
  EXPECT_EQ(rtt.variation(), nanoseconds(40'000 + (80'000 - 40'000) / 4));
  EXPECT_EQ(rtt.min(), nanoseconds(80'000));
  EXPECT_EQ(rtt.queue_delay(), nanoseconds(40'000));
}

TEST(RttEstimator, add__settles_on_a_constant) {
  RttEstimator rtt;
  rtt.add(at_us(0), microseconds(500), {});
  add_many(rtt, at_us(1), 200, microseconds(20));
  EXPECT_NEAR(static_cast<double>(rtt.smoothed().ns), 20'000, 10);
  EXPECT_LT(rtt.variation(), nanoseconds(100));
  EXPECT_EQ(rtt.min(), microseconds(20));
}

TEST(RttEstimator, add__queue_drains_within_a_few_samples) {
  RttEstimator rtt;
  add_many(rtt, at_us(0), 10, microseconds(20));
  add_many(rtt, at_us(10), 10, microseconds(120));
  EXPECT_GT(rtt.queue_delay(), microseconds(99));
  add_many(rtt, at_us(20), 7, microseconds(20));
  EXPECT_LT(rtt.queue_delay(), microseconds(1));
}

TEST(RttEstimator, add__peer_delay_is_taken_off) {
  RttEstimator rtt;
  rtt.add(at_us(0), microseconds(50), {});
  rtt.add(at_us(1), microseconds(130), microseconds(80));
  EXPECT_EQ(rtt.smoothed(), microseconds(50));
}

TEST(RttEstimator, add__peer_delay_that_leads_below_the_smallest_is_not_believed) {
  RttEstimator rtt;
  rtt.add(at_us(0), nanoseconds(80'000), {});
  rtt.add(at_us(1), nanoseconds(160'000), nanoseconds(80'001));
  EXPECT_EQ(rtt.smoothed(), nanoseconds(90'000)) << "as if no delay was stated";
  EXPECT_EQ(rtt.min(), nanoseconds(80'000));
  rtt.add(at_us(2), nanoseconds(160'000), seconds(1'000'000));
  EXPECT_EQ(rtt.min(), nanoseconds(80'000));
}

TEST(RttEstimator, add__peer_delay_of_the_first_sample_and_a_negative_one_are_ignored) {
  RttEstimator rtt;
  rtt.add(at_us(0), microseconds(50), microseconds(40));
  EXPECT_EQ(rtt.smoothed(), microseconds(50));
  rtt.add(at_us(1), microseconds(50), microseconds(-40));
  EXPECT_EQ(rtt.smoothed(), microseconds(50));
}

TEST(RttEstimator, add__zero_counts_as_a_nanosecond) {
  RttEstimator rtt;
  rtt.add(at_us(0), {}, {});
  EXPECT_EQ(rtt.smoothed(), nanoseconds(1));
  rtt.add(at_us(0), {}, {});
  EXPECT_EQ(rtt.min(), nanoseconds(1));
}

TEST(RttEstimator, add__saturates) {
  RttEstimator rtt;
  rtt.add(at_us(0), seconds(3'600), {});
  EXPECT_EQ(rtt.smoothed(), nanoseconds(0xffff'ffff));
  rtt.add(at_us(1), microseconds(1), {});
  rtt.add(at_us(2), seconds(3'600), {});
  EXPECT_LE(rtt.smoothed(), nanoseconds(0xffff'ffff));
  EXPECT_EQ(rtt.min(), microseconds(1));
}

TEST(RttEstimatorDeathTest, add__packet_that_was_sent_in_the_future) {
  RttEstimator rtt;
  EXPECT_DEATH(rtt.add(at_us(0), nanoseconds(-1), {}), "elapsed");
}

// A path that became longer: the old smallest RTT is forgotten after two intervals at most.
TEST(RttEstimator, min__of_one_to_two_intervals) {
  RttEstimator rtt;
  rtt.add(Instant{}, microseconds(20), {});
  Instant now;
  const Instant still_remembered = Instant{} + RttEstimator::kMinInterval;
  while (now < still_remembered) {
    now = now + milliseconds(100);
    rtt.add(now, microseconds(70), {});
    ASSERT_EQ(rtt.min(), microseconds(20));
  }
  const Instant forgotten = Instant{} + 2 * RttEstimator::kMinInterval;
  while (now < forgotten) {
    now = now + milliseconds(100);
    rtt.add(now, microseconds(70), {});
  }
  EXPECT_EQ(rtt.min(), microseconds(70));
  EXPECT_LT(rtt.queue_delay(), microseconds(50));
}

TEST(RttEstimator, min__after_a_long_silence) {
  RttEstimator rtt;
  rtt.add(Instant{}, microseconds(20), {});
  rtt.add(Instant{} + seconds(100), microseconds(70), {});
  EXPECT_EQ(rtt.min(), microseconds(20));
  rtt.add(Instant{} + seconds(200), microseconds(80), {});
  EXPECT_EQ(rtt.min(), microseconds(70));
}

}  // namespace
}  // namespace zhinu::core

#include "base/time.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace zhinu {
namespace {

TEST(Duration, units_are_nanoseconds) {
  static_assert(nanoseconds(1).ns == 1);
  static_assert(microseconds(1).ns == 1'000);
  static_assert(milliseconds(1).ns == 1'000'000);
  static_assert(seconds(1).ns == 1'000'000'000);
  EXPECT_EQ(seconds(1), milliseconds(1000));
  EXPECT_EQ(milliseconds(1), microseconds(1000));
  EXPECT_EQ(microseconds(1), nanoseconds(1000));
}

TEST(Duration, default_is_zero) { EXPECT_EQ(Duration{}, nanoseconds(0)); }

TEST(Duration, sum_and_difference) {
  EXPECT_EQ(milliseconds(3) + microseconds(5), microseconds(3005));
  EXPECT_EQ(milliseconds(3) - milliseconds(5), milliseconds(-2));
}

TEST(Duration, multiple_and_part) {
  EXPECT_EQ(milliseconds(3) * 4, milliseconds(12));
  EXPECT_EQ(4 * milliseconds(3), milliseconds(12));
  EXPECT_EQ(milliseconds(12) / 4, milliseconds(3));
  EXPECT_EQ(nanoseconds(7) / 2, nanoseconds(3)) << "towards zero";
  EXPECT_EQ(nanoseconds(-7) / 2, nanoseconds(-3)) << "towards zero";
}

TEST(Duration, order) {
  EXPECT_LT(microseconds(999), milliseconds(1));
  EXPECT_GT(nanoseconds(0), nanoseconds(-1));
  EXPECT_LE(seconds(1), seconds(1));
}

TEST(Duration, a_day_fits_many_times) {
  EXPECT_EQ(seconds(24 * 3600).ns, 86'400'000'000'000);
  EXPECT_GT(seconds(9'000'000'000).ns, 0) << "285 years";
}

TEST(Instant, moves_by_durations) {
  const Instant start{1000};
  EXPECT_EQ(start + nanoseconds(5), Instant{1005});
  EXPECT_EQ(start - nanoseconds(5), Instant{995});
  EXPECT_EQ(Instant{1005} - start, nanoseconds(5));
  EXPECT_EQ(start - Instant{1005}, nanoseconds(-5));
}

TEST(Instant, order) {
  EXPECT_LT(Instant{1}, Instant{2});
  EXPECT_EQ(Instant{}, Instant{0});
}

TEST(Instant, never__is_after_every_other) {
  EXPECT_GT(Instant::never(), Instant{} + seconds(9'000'000'000));
  EXPECT_EQ(Instant::never(), Instant::never());
}

template <class Left, class Right>
concept Addable = requires(Left left, Right right) {
  left + right;
};

// The compiler refuses what has no meaning.
TEST(Instant, points_and_distances_do_not_mix) {
  static_assert(Addable<Instant, Duration>);
  static_assert(Addable<Duration, Duration>);
  static_assert(!Addable<Instant, Instant>);
  static_assert(!std::is_convertible_v<Duration, Instant>);
  static_assert(!std::is_convertible_v<Instant, Duration>);
  static_assert(!std::is_convertible_v<std::int64_t, Duration>);
  static_assert(sizeof(Instant) == 8);
  static_assert(sizeof(Duration) == 8);
}

}  // namespace
}  // namespace zhinu

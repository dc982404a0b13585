#include "core/path_weight.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr Duration kStep = microseconds(100);
Instant at_us(std::int64_t us) { return Instant{} + microseconds(us); }

// The weight after many packets of which `lost_per_mille` are lost.
std::uint16_t weight_at_loss(std::uint32_t lost_per_mille) {
  Prng prng(3);
  PathWeight weight(256);
  std::uint64_t sum = 0;
  constexpr int kPackets = 20'000;
  for (int i = 0; i < kPackets; ++i) {
    if (prng.chance(lost_per_mille * 1'000)) {
      weight.on_lost(at_us(i), 1, kStep);
    } else {
      weight.on_acked(at_us(i), 1, kStep);
    }
    sum += weight.value();
  }
  return static_cast<std::uint16_t>(sum / kPackets);
}

TEST(PathWeight, value__is_the_base_at_first) {
  EXPECT_EQ(PathWeight().value(), 256U);
  EXPECT_EQ(PathWeight(77).value(), 77U);
  EXPECT_EQ(PathWeight(65'535).value(), 65'535U);
}

TEST(PathWeight, on_acked__nothing_to_improve) {
  PathWeight weight(256);
  weight.on_acked(at_us(1), 1'000, kStep);
  EXPECT_EQ(weight.value(), 256U);
}

TEST(PathWeight, on_lost__one_packet_costs_a_little) {
  PathWeight weight(256);
  weight.on_lost(at_us(1), 1, kStep);
  EXPECT_LT(weight.value(), 256U);
  EXPECT_GT(weight.value(), 230U);
}

TEST(PathWeight, on_lost__share_follows_the_loss) {
  EXPECT_EQ(weight_at_loss(0), 256U);
  EXPECT_NEAR(weight_at_loss(10), 218, 12);
  EXPECT_NEAR(weight_at_loss(50), 72, 16) << "clearly less, but some";
  EXPECT_NEAR(weight_at_loss(200), 32, 2);
}

TEST(PathWeight, on_lost__never_below_an_eighth) {
  PathWeight weight(256);
  for (int i = 0; i < 1'000; ++i) weight.on_lost(at_us(i), 0xffff'ffff, kStep);
  EXPECT_EQ(weight.value(), 32U);
}

TEST(PathWeight, on_lost__burst_counts_like_single_packets) {
  PathWeight burst(256);
  burst.on_lost(at_us(1), 4, kStep);
  PathWeight single(256);
  for (int i = 0; i < 4; ++i) single.on_lost(at_us(1), 1, kStep);
  EXPECT_NEAR(burst.value(), single.value(), 1);
}

TEST(PathWeight, on_acked__decays_back_to_one) {
  PathWeight weight(256);
  weight.on_lost(at_us(1), 256, kStep);
  ASSERT_EQ(weight.value(), 32U);
  int packets = 0;
  while (weight.value() < 256) {
    const std::uint16_t before = weight.value();
    weight.on_acked(at_us(2 + packets), 1, kStep);
    ASSERT_GE(weight.value(), before);
    ASSERT_LT(++packets, 5'000);
  }
  EXPECT_GT(packets, 500) << "a burst is not forgotten at once";
}

TEST(PathWeight, on_acked__no_packets_change_nothing) {
  PathWeight weight(256);
  weight.on_lost(at_us(1), 256, kStep);
  weight.on_acked(at_us(2), 0, kStep);
  EXPECT_EQ(weight.value(), 32U);
}

TEST(PathWeight, value__small_bases_keep_at_least_one) {
  PathWeight weight(1);
  weight.on_lost(at_us(1), 256, kStep);
  weight.begin_ramp(at_us(1), kStep);
  EXPECT_EQ(weight.value(), 1U);
}

TEST(PathWeight, value__standby_stays_zero) {
  PathWeight weight(0);
  weight.on_lost(at_us(1), 256, kStep);
  EXPECT_EQ(weight.value(), 0U);
  weight.on_acked(at_us(2), 1, kStep);
  EXPECT_EQ(weight.value(), 0U);
}

TEST(PathWeight, value__largest_base_does_not_overflow) {
  PathWeight weight(65'535);
  weight.on_lost(at_us(1), 256, kStep);
  EXPECT_EQ(weight.value(), 65'535 / 8);
  weight.begin_ramp(at_us(1), kStep);
  EXPECT_EQ(weight.value(), 65'535 / 64);
}

TEST(PathWeight, begin_ramp__eight_steps) {
  PathWeight weight(256);
  weight.begin_ramp(at_us(0), kStep);
  weight.on_acked(at_us(99), 1, kStep);
  EXPECT_EQ(weight.value(), 32U);
  std::vector<std::uint16_t> steps;
  for (std::int64_t us = 100; us <= 1'000; us += 10) {
    const std::uint16_t before = weight.value();
    weight.on_acked(at_us(us), 1, kStep);
    if (weight.value() != before) steps.push_back(weight.value());
  }
  EXPECT_EQ(steps, (std::vector<std::uint16_t>{64, 96, 128, 160, 192, 224, 256}));
}

TEST(PathWeight, begin_ramp__no_step_without_traffic) {
  PathWeight weight(256);
  weight.begin_ramp(at_us(0), kStep);
  weight.on_acked(at_us(100'000), 1, kStep);
  EXPECT_EQ(weight.value(), 64U) << "one step, however long nothing was sent";
}

TEST(PathWeight, begin_ramp__loss_delays_the_next_step) {
  PathWeight weight(256);
  weight.begin_ramp(at_us(0), kStep);
  weight.on_lost(at_us(90), 1, kStep);
  weight.on_acked(at_us(189), 256, kStep);
  EXPECT_EQ(weight.value(), 32U);
  weight.on_acked(at_us(190), 256, kStep);
  EXPECT_EQ(weight.value(), 64U);
}

}  // namespace
}  // namespace zhinu::core

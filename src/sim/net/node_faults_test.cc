#include "sim/net/node_faults.h"

#include <gtest/gtest.h>

#include <array>

namespace zhinu::sim {
namespace {

TEST(SeededEntropy, fill__same_seed_same_bytes_also_at_odd_sizes) {
  std::array<std::byte, 13> a{};
  std::array<std::byte, 13> b{};
  SeededEntropy(1, 2).fill(a);
  SeededEntropy(1, 2).fill(b);
  EXPECT_EQ(a, b);
  SeededEntropy(1, 3).fill(b);
  EXPECT_NE(a, b);
}

TEST(SeededMisbehaviour, short_send__never_with_rate_zero_always_with_a_million) {
  SeededMisbehaviour behaved({}, 1, 1);
  SeededMisbehaviour misbehaved({.short_send_ppm = 1'000'000}, 1, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(behaved.short_send());
    EXPECT_TRUE(misbehaved.short_send());
    EXPECT_FALSE(misbehaved.full_pool());
  }
}

}  // namespace
}  // namespace zhinu::sim

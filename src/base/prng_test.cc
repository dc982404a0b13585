#include "base/prng.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>

namespace zhinu {
namespace {

// The reference output of SplitMix64 for the seed 1234567, as several published
// implementations test it.
TEST(Splitmix64, splitmix64__reference_stream) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317U);
  EXPECT_EQ(splitmix64(state), 3203168211198807973U);
  EXPECT_EQ(splitmix64(state), 9817491932198370423U);
  EXPECT_EQ(splitmix64(state), 4593380528125082431U);
  EXPECT_EQ(splitmix64(state), 16408922859458223821U);
}

// xoshiro256** written down a second time, from the paper, without a class.
std::uint64_t reference_next(std::array<std::uint64_t, 4>& s) {
  const auto rotl = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  const std::uint64_t result = rotl(s[1] * 5, 7) * 9;
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotl(s[3], 45);
  return result;
}

TEST(Prng, next__reference_stream) {
  std::uint64_t seed = 42;
  std::array<std::uint64_t, 4> state{};
  for (auto& word : state) word = splitmix64(seed);
  Prng prng(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(prng.next(), reference_next(state)) << i;
}

// Scenarios are named by their seed: the stream of a seed may never change.
TEST(Prng, next__stream_of_a_seed_is_pinned) {
  Prng prng(7);
  EXPECT_EQ(prng.next(), 12923355070828475994U);
  EXPECT_EQ(prng.next(), 5142052590334782674U);
}

TEST(Prng, next__equal_seeds_give_equal_streams) {
  Prng a(99);
  Prng b(99);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.next(), b.next());
}

TEST(Prng, next__close_seeds_give_different_streams) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) first.insert(Prng(seed).next());
  EXPECT_EQ(first.size(), 1000U);
}

TEST(Prng, next__entities_of_one_seed_are_independent) {
  std::set<std::uint64_t> first;
  for (std::uint64_t entity = 0; entity < 1000; ++entity) first.insert(Prng(7, entity).next());
  EXPECT_EQ(first.size(), 1000U);
}

TEST(Prng, next__entity_and_seed_do_not_commute) {
  EXPECT_NE(Prng(1, 2).next(), Prng(2, 1).next());
}

TEST(Prng, next__works_at_compile_time) {
  constexpr auto first = [] {
    Prng prng(42);
    return prng.next();
  }();
  EXPECT_EQ(first, Prng(42).next());
}

TEST(Prng, next__every_bit_is_fair) {
  Prng prng(5);
  std::array<int, 64> ones{};
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = prng.next();
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>((value >> bit) & 1);
  }
  // Six standard deviations of a fair coin, each 50 draws wide.
  for (const int count : ones) EXPECT_NEAR(count, kDraws / 2, 300);
}

TEST(Prng, below__one_is_always_zero) {
  Prng prng(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(prng.below(1), 0U);
}

TEST(Prng, below__stays_below) {
  EXPECT_TRUE(rc::check("below(n) < n", [](std::uint64_t seed, std::uint64_t bound) {
    RC_PRE(bound > 0);
    Prng prng(seed);
    for (int i = 0; i < 10; ++i) RC_ASSERT(prng.below(bound) < bound);
  }));
}

TEST(Prng, below__reaches_every_value_about_equally_often) {
  Prng prng(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 7000; ++i) ++counts[prng.below(7)];
  // Six standard deviations of a binomial with p = 1/7: sqrt(7000 * 6) / 7 = 29.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 180);
}

TEST(Prng, below__largest_bound) {
  Prng prng(4);
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t largest = 0;
  for (int i = 0; i < 100; ++i) largest = std::max(largest, prng.below(max));
  EXPECT_GT(largest, max / 2);
}

TEST(PrngDeathTest, below__zero) {
  Prng prng(1);
  EXPECT_DEATH(static_cast<void>(prng.below(0)), "bound > 0");
}

TEST(Prng, between__both_ends_are_included) {
  Prng prng(6);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(prng.between(10, 13));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{10, 11, 12, 13}));
}

TEST(Prng, between__one_value) { EXPECT_EQ(Prng(1).between(5, 5), 5U); }

TEST(Prng, between__stays_between) {
  EXPECT_TRUE(rc::check("low <= between(low, high) <= high",
                        [](std::uint64_t seed, std::uint32_t low, std::uint32_t distance) {
                          const std::uint64_t high = std::uint64_t{low} + distance;
                          const std::uint64_t value = Prng(seed).between(low, high);
                          RC_ASSERT(value >= low);
                          RC_ASSERT(value <= high);
                        }));
}

TEST(Prng, chance__never_and_always) {
  Prng prng(8);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(1'000'000));
  }
}

TEST(Prng, chance__one_in_a_hundred) {
  Prng prng(9);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += prng.chance(10'000) ? 1 : 0;
  // Six standard deviations: sqrt(100,000 * 0.01 * 0.99) = 31.5.
  EXPECT_NEAR(hits, 1000, 190);
}

TEST(Mix64, mix64__spreads_one_bit_over_the_word) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t changed = mix64(0) ^ mix64(std::uint64_t{1} << bit);
    EXPECT_GE(std::popcount(changed), 12) << bit;
    EXPECT_LE(std::popcount(changed), 52) << bit;
  }
}

TEST(Mix64, mix64__second_word_counts) {
  EXPECT_NE(mix64(1, 0), mix64(1, 1));
  EXPECT_NE(mix64(1, 2), mix64(2, 1));
  EXPECT_EQ(mix64(1), mix64(1, 0));
}

TEST(Prng, between__the_whole_range) {
  Prng a(9);
  Prng b(9);
  EXPECT_EQ(a.between(0, ~0ULL), b.next());
}

}  // namespace
}  // namespace zhinu

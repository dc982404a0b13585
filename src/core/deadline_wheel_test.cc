// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/deadline_wheel.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr std::uint32_t kNone = DeadlineWheel::kNone;
constexpr Duration kTurn = DeadlineWheel::kBuckets * DeadlineWheel::kTick;

Instant at_ms(std::int64_t ms) { return Instant{} + milliseconds(ms); }

std::set<std::uint32_t> pop_all(DeadlineWheel& wheel, Instant now) {
  std::set<std::uint32_t> popped;
  for (;;) {
    const std::uint32_t entry = wheel.pop_expired(now);
    if (entry == kNone) return popped;
    EXPECT_TRUE(popped.insert(entry).second) << "twice: " << entry;
  }
}
using Popped = std::set<std::uint32_t>;

TEST(DeadlineWheel, next__empty_wheel) {
  DeadlineWheel wheel(4);
  EXPECT_EQ(wheel.next(), Instant::never());
  EXPECT_EQ(wheel.pop_expired(at_ms(1'000'000)), kNone);
  DeadlineWheel none(0);
  EXPECT_EQ(none.pop_expired(at_ms(0)), kNone);
}

TEST(DeadlineWheel, insert__contains) {
  DeadlineWheel wheel(4);
  EXPECT_FALSE(wheel.contains(2));
  wheel.insert(2, at_ms(5));
  EXPECT_TRUE(wheel.contains(2));
  EXPECT_FALSE(wheel.contains(1));
  EXPECT_EQ(wheel.next(), at_ms(5));
}

TEST(DeadlineWheel, insert__deadline_never_stays_out) {
  DeadlineWheel wheel(4);
  wheel.insert(2, Instant::never());
  EXPECT_FALSE(wheel.contains(2));
  EXPECT_EQ(wheel.next(), Instant::never());
  wheel.insert(2, at_ms(1));
  EXPECT_TRUE(wheel.contains(2));
}

TEST(DeadlineWheelDeathTest, insert__twice_or_out_of_range) {
  DeadlineWheel wheel(4);
  wheel.insert(2, at_ms(5));
  EXPECT_DEATH(wheel.insert(2, at_ms(6)), "contains");
  EXPECT_DEATH(wheel.insert(4, at_ms(6)), "entry_count_");
}

TEST(DeadlineWheel, pop_expired__not_a_nanosecond_early) {
  DeadlineWheel wheel(4);
  const Instant deadline = at_ms(5) + nanoseconds(300);
  wheel.insert(0, deadline);
  EXPECT_EQ(wheel.pop_expired(deadline - nanoseconds(1)), kNone);
  EXPECT_EQ(wheel.pop_expired(deadline), 0U);
  EXPECT_FALSE(wheel.contains(0));
  EXPECT_EQ(wheel.pop_expired(deadline), kNone);
}

TEST(DeadlineWheel, pop_expired__deadline_in_the_past) {
  DeadlineWheel wheel(4);
  EXPECT_EQ(wheel.pop_expired(at_ms(500)), kNone);
  wheel.insert(3, at_ms(2));
  EXPECT_LE(wheel.next(), at_ms(2));
  EXPECT_EQ(wheel.pop_expired(at_ms(500)), 3U);
}

TEST(DeadlineWheel, pop_expired__same_bucket_other_turn) {
  DeadlineWheel wheel(4);
  wheel.insert(0, at_ms(5));
  wheel.insert(1, at_ms(5) + kTurn);
  wheel.insert(2, at_ms(5) + 100 * kTurn);
  EXPECT_EQ(pop_all(wheel, at_ms(5)), (Popped{0}));
  EXPECT_EQ(wheel.next(), at_ms(5) + kTurn);
  EXPECT_EQ(pop_all(wheel, at_ms(5) + kTurn - nanoseconds(1)), Popped{});
  EXPECT_EQ(pop_all(wheel, at_ms(5) + kTurn), (Popped{1}));
  EXPECT_EQ(wheel.next(), at_ms(5) + 100 * kTurn) << "no wake-up for each turn between";
}

TEST(DeadlineWheel, pop_expired__after_a_long_sleep_all_at_once) {
  DeadlineWheel wheel(1'000);
  for (std::uint32_t entry = 0; entry < 1'000; ++entry) wheel.insert(entry, at_ms(3 * entry));
  EXPECT_EQ(pop_all(wheel, at_ms(3 * 1'000)).size(), 1'000U);
  EXPECT_EQ(wheel.next(), Instant::never());
}

TEST(DeadlineWheel, remove__first_middle_and_last_of_a_bucket) {
  for (const std::uint32_t removed : {0U, 1U, 2U}) {
    DeadlineWheel wheel(3);
    for (std::uint32_t entry = 0; entry < 3; ++entry) wheel.insert(entry, at_ms(7));
    wheel.remove(removed);
    EXPECT_FALSE(wheel.contains(removed));
    Popped expected{0, 1, 2};
    expected.erase(removed);
    EXPECT_EQ(pop_all(wheel, at_ms(7)), expected);
  }
}

TEST(DeadlineWheel, remove__not_in_the_wheel) {
  DeadlineWheel wheel(3);
  wheel.remove(1);
  wheel.insert(0, at_ms(7));
  wheel.remove(1);
  EXPECT_EQ(wheel.next(), at_ms(7));
}

TEST(DeadlineWheel, remove__last_one_empties_the_wheel) {
  DeadlineWheel wheel(3);
  wheel.insert(0, at_ms(7));
  wheel.remove(0);
  EXPECT_EQ(wheel.next(), Instant::never());
  wheel.insert(0, at_ms(9));
  EXPECT_EQ(wheel.next(), at_ms(9));
}

TEST(DeadlineWheel, remove__earliest_leaves_one_idle_wake_up) {
  DeadlineWheel wheel(3);
  wheel.insert(0, at_ms(7));
  wheel.insert(1, at_ms(90));
  wheel.remove(0);
  EXPECT_LE(wheel.next(), at_ms(90));
  EXPECT_EQ(wheel.pop_expired(at_ms(7)), kNone);
  EXPECT_EQ(wheel.next(), at_ms(90));
}

TEST(DeadlineWheel, remove__expired_but_not_yet_popped) {
  DeadlineWheel wheel(4);
  for (std::uint32_t entry = 0; entry < 4; ++entry) wheel.insert(entry, at_ms(7));
  const std::uint32_t first = wheel.pop_expired(at_ms(8));
  const std::uint32_t removed = first == 2 ? 3 : 2;
  wheel.remove(removed);
  EXPECT_FALSE(wheel.contains(removed));
  Popped expected{0, 1, 2, 3};
  expected.erase(first);
  expected.erase(removed);
  EXPECT_EQ(pop_all(wheel, at_ms(8)), expected);
  EXPECT_EQ(wheel.next(), Instant::never());
}

TEST(DeadlineWheel, insert__between_two_pops) {
  DeadlineWheel wheel(4);
  wheel.insert(0, at_ms(7));
  wheel.insert(1, at_ms(7));
  Popped popped{wheel.pop_expired(at_ms(8))};
  wheel.insert(2, at_ms(3));
  wheel.insert(3, at_ms(9));
  popped.merge(pop_all(wheel, at_ms(8)));
  EXPECT_EQ(popped, (Popped{0, 1, 2}));
  EXPECT_EQ(wheel.next(), at_ms(9));
}

void compare_with_reference(std::uint64_t seed) {
  Prng prng(seed);
  constexpr std::uint32_t kEntries = 64;
  DeadlineWheel wheel(kEntries);
  std::map<std::uint32_t, Instant> reference;
  Instant now;
  for (int step = 0; step < 1'000; ++step) {
    const auto entry = static_cast<std::uint32_t>(prng.below(kEntries));
    RC_ASSERT(wheel.contains(entry) == (reference.count(entry) != 0));
    if (prng.below(3) == 0) {
      wheel.remove(entry);
      reference.erase(entry);
    } else if (reference.count(entry) == 0) {
      const std::int64_t reach = prng.below(4) == 0 ? 5 * kTurn.ns : milliseconds(20).ns;
      const Instant deadline =
          now + Duration{static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(reach)))};
      wheel.insert(entry, deadline);
      reference.emplace(entry, deadline);
    }
    for (const auto& [each, deadline] : reference) RC_ASSERT(wheel.next() <= deadline);
    if (prng.below(3) != 0) continue;
    now = now + Duration{static_cast<std::int64_t>(prng.below(30'000'000))};
    Popped expected;
    for (const auto& [each, deadline] : reference) {
      if (deadline <= now) expected.insert(each);
    }
    RC_ASSERT(pop_all(wheel, now) == expected);
    RC_ASSERT(wheel.next() > now);  // no busy loop
    for (const std::uint32_t each : expected) reference.erase(each);
  }
}

TEST(DeadlineWheel, random_operations_equal_the_reference) {
  EXPECT_TRUE(rc::check("a map of deadlines", compare_with_reference));
}

}  // namespace
}  // namespace zhinu::core

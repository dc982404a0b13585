// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/number_window.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/prng.h"

namespace zhinu::core {
namespace {

using Seen = NumberWindow::Seen;
using Gate = NumberWindow::Gate;
constexpr std::uint64_t kWindow = NumberWindow::kWindow;

void mark_all(NumberWindow& window, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t number = first; number < end; ++number) window.mark(number);
}

TEST(NumberWindow, look__fresh_window) {
  const NumberWindow window;
  EXPECT_EQ(window.floor(), 0U);
  EXPECT_EQ(window.look(0), Seen::kFresh);
  EXPECT_EQ(window.look(kWindow - 1), Seen::kFresh);
  EXPECT_EQ(window.look(kWindow), Seen::kBeyond);
  EXPECT_EQ(window.look(~0ULL), Seen::kBeyond);
}

TEST(NumberWindow, look__marked_number_and_its_neighbours) {
  NumberWindow window;
  window.mark(100);
  EXPECT_EQ(window.look(99), Seen::kFresh);
  EXPECT_EQ(window.look(100), Seen::kSeen);
  EXPECT_EQ(window.look(101), Seen::kFresh);
  EXPECT_EQ(window.look(100 + kWindow), Seen::kBeyond);
}

TEST(NumberWindow, look__below_the_floor) {
  NumberWindow window;
  mark_all(window, 0, 10'000);
  EXPECT_EQ(window.look(0), Seen::kSeen);
  EXPECT_EQ(window.look(9'999), Seen::kSeen);
  EXPECT_EQ(window.look(10'000), Seen::kFresh);
  EXPECT_EQ(window.look(10'000 + kWindow - 1), Seen::kFresh);
  EXPECT_EQ(window.look(10'000 + kWindow), Seen::kBeyond);
}

TEST(NumberWindow, mark__in_order_moves_the_floor) {
  NumberWindow window;
  window.mark(0);
  EXPECT_EQ(window.floor(), 1U);
  window.mark(1);
  EXPECT_EQ(window.floor(), 2U);
}

TEST(NumberWindow, mark__above_a_gap_leaves_the_floor) {
  NumberWindow window;
  window.mark(1);
  window.mark(2);
  EXPECT_EQ(window.floor(), 0U);
  window.mark(0);
  EXPECT_EQ(window.floor(), 3U);
}

TEST(NumberWindow, mark__floor_stops_at_the_next_gap_in_each_place_of_a_word) {
  for (std::uint64_t gap = 1; gap < 130; ++gap) {
    NumberWindow window;
    mark_all(window, 1, gap);
    mark_all(window, gap + 1, 200);
    window.mark(0);
    ASSERT_EQ(window.floor(), gap);
    window.mark(gap);
    ASSERT_EQ(window.floor(), 200U);
  }
}

TEST(NumberWindow, mark__full_window_filled_from_the_top) {
  NumberWindow window;
  mark_all(window, 0, 77);
  for (std::uint64_t number = 77 + kWindow; --number > 77;) window.mark(number);
  EXPECT_EQ(window.floor(), 77U);
  EXPECT_EQ(window.look(77 + kWindow), Seen::kBeyond);
  window.mark(77);
  EXPECT_EQ(window.floor(), 77 + kWindow);
  // The ring was cleared on the way.
  for (std::uint64_t i = 0; i < kWindow; ++i) {
    ASSERT_EQ(window.look(77 + kWindow + i), Seen::kFresh);
  }
}

TEST(NumberWindow, mark__over_many_turns_of_the_ring) {
  NumberWindow window;
  std::set<std::uint64_t> missing;
  for (std::uint64_t number = 0; number < 12 * kWindow; ++number) {
    if (number % 1'009 == 5) {
      missing.insert(number);
      continue;
    }
    window.mark(number);
    if (missing.empty()) continue;
    ASSERT_EQ(window.floor(), *missing.begin());
    if (number < *missing.begin() + 3'000) continue;
    window.mark(*missing.begin());
    missing.erase(missing.begin());
  }
  EXPECT_GE(window.floor(), 11 * kWindow);
}

TEST(NumberWindowDeathTest, mark__number_that_is_not_fresh) {
  NumberWindow window;
  window.mark(3);
  EXPECT_DEATH(window.mark(3), "kFresh");
  EXPECT_DEATH(window.mark(kWindow), "kFresh");
}

TEST(NumberWindow, mark_void__counts_as_seen) {
  NumberWindow window;
  window.mark_void(1);
  EXPECT_EQ(window.look(1), Seen::kSeen);
  window.mark_void(0);
  EXPECT_EQ(window.floor(), 2U);
}

TEST(NumberWindow, is_void__exactly_the_marked_ones) {
  NumberWindow window;
  EXPECT_FALSE(window.is_void(0));
  for (const std::uint64_t number : {50U, 10U, 30U, 11U, 31U, 9U}) window.mark_void(number);
  window.mark(29);
  const std::set<std::uint64_t> expected{9, 10, 11, 30, 31, 50};
  for (std::uint64_t number = 0; number < 2 * kWindow; ++number) {
    ASSERT_EQ(window.is_void(number), expected.count(number) != 0) << number;
  }
}

TEST(NumberWindow, is_void__number_between_two_runs_joins_them) {
  NumberWindow window;
  window.mark_void(20);
  window.mark_void(22);
  window.mark_void(21);
  for (std::uint64_t number = 20; number <= 22; ++number) EXPECT_TRUE(window.is_void(number));
  EXPECT_FALSE(window.is_void(19));
  EXPECT_FALSE(window.is_void(23));
}

TEST(NumberWindow, is_void__forgotten_a_window_below_the_floor) {
  NumberWindow window;
  window.mark(0);
  window.mark_void(1);
  window.mark_void(2);
  mark_all(window, 3, 1 + kWindow);
  EXPECT_EQ(window.floor(), 1 + kWindow);
  EXPECT_FALSE(window.is_void(1));
  EXPECT_TRUE(window.is_void(2));
  window.mark(1 + kWindow);
  EXPECT_FALSE(window.is_void(2));
}

TEST(NumberWindow, is_void__run_that_grows_for_ever_is_cut_at_its_old_end) {
  NumberWindow window;
  const std::uint64_t end = 40 * kWindow;  // beyond what 16 bits tell apart
  for (std::uint64_t number = 0; number < end; ++number) window.mark_void(number);
  EXPECT_TRUE(window.is_void(end - 1));
  EXPECT_TRUE(window.is_void(end - kWindow + 1));
  EXPECT_FALSE(window.is_void(end - kWindow));
  EXPECT_FALSE(window.is_void(end));
}

TEST(NumberWindow, is_void__nothing_comes_back_after_16_bits_of_numbers) {
  NumberWindow window;
  window.mark_void(0);
  for (std::uint64_t number = 1; number < 70'000; ++number) {
    window.mark(number);
    ASSERT_FALSE(window.is_void(number));
  }
}

// The full case: more runs than are remembered.
TEST(NumberWindow, mark_void__full_list_joins_the_two_closest_runs) {
  NumberWindow window;
  for (std::uint64_t i = 0; i < NumberWindow::kVoidMax; ++i) window.mark_void(100 + 10 * i);
  window.mark_void(105);
  EXPECT_TRUE(window.is_void(100));
  EXPECT_TRUE(window.is_void(103)) << "the gap of 100 and 105 is closed";
  EXPECT_TRUE(window.is_void(105));
  EXPECT_FALSE(window.is_void(107));
  EXPECT_FALSE(window.is_void(115));
  for (std::uint64_t i = 0; i < NumberWindow::kVoidMax; ++i) {
    EXPECT_TRUE(window.is_void(100 + 10 * i)) << i;
  }
  EXPECT_EQ(window.look(103), Seen::kFresh) << "it may still be taken";
}

TEST(NumberWindow, mark_void__number_in_a_gap_that_was_closed) {
  NumberWindow window;
  for (std::uint64_t i = 0; i <= NumberWindow::kVoidMax; ++i) window.mark_void(100 + 10 * i);
  ASSERT_TRUE(window.is_void(105));
  window.mark_void(105);
  EXPECT_EQ(window.look(105), Seen::kSeen);
  EXPECT_TRUE(window.is_void(105));
  EXPECT_FALSE(window.is_void(125)) << "no second pair was joined";
}

// What a list of single numbers could not do: one communicator's burst, all of it void, and
// then the next burst. The floor must never stand still.
TEST(NumberWindow, mark_void__bursts_longer_than_the_list_never_hold_the_floor) {
  NumberWindow window;
  std::uint64_t next = 0;
  for (int burst = 0; burst < 100; ++burst) {
    for (std::uint64_t i = 0; i < 300; ++i, ++next) {
      if (i % 3 == 0) {
        window.mark(next);  // another communicator between
      } else {
        ASSERT_EQ(window.look(next), Seen::kFresh);
        window.mark_void(next);
      }
    }
    ASSERT_EQ(window.floor(), next);
  }
}

TEST(NumberWindow, gate__no_predecessor) {
  NumberWindow window;
  EXPECT_EQ(window.gate(0, 0), Gate::kOpen);
  EXPECT_EQ(window.gate(77, 0), Gate::kOpen);
}

TEST(NumberWindow, gate__predecessor_below_zero) {
  const NumberWindow window;
  EXPECT_EQ(window.gate(3, 4), Gate::kOpen);
  EXPECT_EQ(window.gate(254, 255), Gate::kOpen);
  EXPECT_EQ(window.gate(3, 3), Gate::kWait) << "number 0 is one";
}

TEST(NumberWindow, gate__predecessor_missing_then_seen) {
  NumberWindow window;
  EXPECT_EQ(window.gate(10, 4), Gate::kWait);
  window.mark(6);
  EXPECT_EQ(window.gate(10, 4), Gate::kOpen);
  EXPECT_EQ(window.gate(10, 3), Gate::kWait);
  mark_all(window, 0, 6);
  EXPECT_EQ(window.gate(10, 7), Gate::kOpen) << "below the floor";
}

TEST(NumberWindow, gate__predecessor_void) {
  NumberWindow window;
  window.mark_void(6);
  EXPECT_EQ(window.gate(10, 4), Gate::kVoid);
  EXPECT_EQ(window.gate(10, 5), Gate::kWait);
  mark_all(window, 0, 6);
  window.mark(7);
  EXPECT_EQ(window.gate(10, 4), Gate::kVoid) << "below the floor it is remembered";
  EXPECT_EQ(window.gate(10, 3), Gate::kOpen);
}

TEST(NumberWindow, gate__largest_exact_distance) {
  NumberWindow window;
  window.mark_void(1);
  EXPECT_EQ(window.gate(255, 254), Gate::kVoid);
  EXPECT_EQ(window.gate(256, 254), Gate::kWait);
}

TEST(NumberWindow, gate__far_predecessor_waits_for_all_up_to_it) {
  NumberWindow window;
  EXPECT_EQ(window.gate(255, 255), Gate::kWait);
  window.mark(0);
  EXPECT_EQ(window.gate(255, 255), Gate::kOpen);
  EXPECT_EQ(window.gate(256, 255), Gate::kWait);
  mark_all(window, 2, 1'000);
  EXPECT_EQ(window.gate(700, 255), Gate::kWait) << "1 may be it";
  window.mark(1);
  EXPECT_EQ(window.gate(700, 255), Gate::kOpen);
}

TEST(NumberWindow, gate__far_predecessor_may_be_void) {
  NumberWindow window;
  mark_all(window, 0, 5);
  window.mark_void(5);
  mark_all(window, 6, 1'000);
  EXPECT_EQ(window.gate(259, 255), Gate::kOpen) << "5 is nearer than 255";
  EXPECT_EQ(window.gate(260, 255), Gate::kVoid);
  EXPECT_EQ(window.gate(900, 255), Gate::kVoid);
}

TEST(NumberWindow, gate__far_predecessor_opens_when_the_void_one_is_forgotten) {
  NumberWindow window;
  window.mark_void(0);
  mark_all(window, 1, kWindow);
  EXPECT_EQ(window.gate(kWindow, 255), Gate::kOpen);
}

// The slow reference: sets of every number.
struct Reference {
  std::set<std::uint64_t> seen;
  std::set<std::uint64_t> voids;
  std::uint64_t floor = 0;

  void mark(std::uint64_t number) {
    seen.insert(number);
    while (seen.count(floor) != 0) ++floor;
  }
  Seen look(std::uint64_t number) const {
    if (number >= floor + kWindow) return Seen::kBeyond;
    return number < floor || seen.count(number) != 0 ? Seen::kSeen : Seen::kFresh;
  }
  bool is_void(std::uint64_t number) const {
    return voids.count(number) != 0 && number + kWindow > floor;
  }
  Gate gate(std::uint64_t number, std::uint8_t order) const {
    if (order == 0 || order > number) return Gate::kOpen;
    const std::uint64_t before = number - order;
    if (order == 255) {
      if (floor <= before) return Gate::kWait;
      for (const std::uint64_t each : voids) {
        if (each <= before && is_void(each)) return Gate::kVoid;
      }
      return Gate::kOpen;
    }
    if (is_void(before)) return Gate::kVoid;
    return look(before) == Seen::kSeen ? Gate::kOpen : Gate::kWait;
  }
};

// One flow: numbers arrive mostly near the floor, one in `void_odds` is void.
void compare_with_reference(std::uint64_t seed, std::uint64_t void_odds, bool exact_voids) {
  Prng prng(seed);
  NumberWindow window;
  Reference reference;
  for (int step = 0; step < 6'000; ++step) {
    const std::uint64_t reach = prng.below(4) == 0 ? kWindow + 10 : 40;
    const std::uint64_t number =
        prng.below(3) == 0 ? reference.floor : reference.floor + prng.below(reach);
    RC_ASSERT(window.look(number) == reference.look(number));
    if (reference.look(number) == Seen::kFresh) {
      if (prng.below(void_odds) == 0) {
        window.mark_void(number);
        reference.voids.insert(number);
      } else {
        window.mark(number);
      }
      reference.mark(number);
    }
    RC_ASSERT(window.floor() == reference.floor);

    const std::uint64_t back = prng.below(kWindow + 300);
    const std::uint64_t asked = reference.floor + prng.below(300) - std::min(reference.floor, back);
    const auto order = static_cast<std::uint8_t>(prng.below(4) == 0 ? 255 : prng.below(255));
    // Joined runs may only add numbers that count as void.
    if (exact_voids || reference.is_void(asked)) {
      RC_ASSERT(window.is_void(asked) == reference.is_void(asked));
    }
    const Gate expected = reference.gate(asked, order);
    const Gate gate = window.gate(asked, order);
    RC_ASSERT(gate == expected || (!exact_voids && gate == Gate::kVoid));
  }
}

TEST(NumberWindow, random_operations_equal_the_reference) {
  EXPECT_TRUE(rc::check("few void numbers",
                        [](std::uint64_t seed) { compare_with_reference(seed, 400, true); }));
}

TEST(NumberWindow, random_operations_with_many_void_numbers_only_err_towards_void) {
  EXPECT_TRUE(rc::check("many void numbers",
                        [](std::uint64_t seed) { compare_with_reference(seed, 3, false); }));
}

}  // namespace
}  // namespace zhinu::core

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
    if (number < *missing.begin() + 1'500) continue;
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

TEST(NumberWindow, gate__largest_exact_distance) {
  NumberWindow window;
  window.mark(1);
  EXPECT_EQ(window.gate(255, 254), Gate::kOpen);
  EXPECT_EQ(window.gate(256, 254), Gate::kWait);
}

// The slow reference: a set of every number.
struct Reference {
  std::set<std::uint64_t> seen;
  std::uint64_t floor = 0;

  void mark(std::uint64_t number) {
    seen.insert(number);
    while (seen.count(floor) != 0) ++floor;
  }
  Seen look(std::uint64_t number) const {
    if (number >= floor + kWindow) return Seen::kBeyond;
    return number < floor || seen.count(number) != 0 ? Seen::kSeen : Seen::kFresh;
  }
  Gate gate(std::uint64_t number, std::uint8_t order) const {
    if (order == 0 || order > number) return Gate::kOpen;
    const std::uint64_t before = number - order;
    if (order == 255) return floor <= before ? Gate::kWait : Gate::kOpen;
    return look(before) == Seen::kSeen ? Gate::kOpen : Gate::kWait;
  }
};

// One flow: numbers arrive mostly near the floor.
TEST(NumberWindow, random_operations_equal_the_reference) {
  EXPECT_TRUE(rc::check("equal to the reference", [](std::uint64_t seed) {
    Prng prng(seed);
    NumberWindow window;
    Reference reference;
    for (int step = 0; step < 6'000; ++step) {
      const std::uint64_t reach = prng.below(4) == 0 ? kWindow + 10 : 40;
      const std::uint64_t number =
          prng.below(3) == 0 ? reference.floor : reference.floor + prng.below(reach);
      RC_ASSERT(window.look(number) == reference.look(number));
      if (reference.look(number) == Seen::kFresh) {
        window.mark(number);
        reference.mark(number);
      }
      RC_ASSERT(window.floor() == reference.floor);

      const std::uint64_t back = prng.below(kWindow + 300);
      const std::uint64_t asked =
          reference.floor + prng.below(300) - std::min(reference.floor, back);
      const auto order = static_cast<std::uint8_t>(prng.below(4) == 0 ? 255 : prng.below(255));
      RC_ASSERT(window.gate(asked, order) == reference.gate(asked, order));
    }
  }));
}

}  // namespace
}  // namespace zhinu::core

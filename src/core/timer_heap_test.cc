#include "core/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

TEST(TimerHeap, earliest__empty_is_never) {
  TimerHeap heap;
  EXPECT_EQ(heap.earliest(), Instant::never());
  heap.grow(2);
  heap.set(1, Instant::never());
  EXPECT_EQ(heap.earliest(), Instant::never());
  EXPECT_DEATH(heap.earliest_owner(), "heap_.empty");
  EXPECT_DEATH(heap.set(2, Instant{1}), "owner < position_.size");
}

TEST(TimerHeap, set__earlier_later_never) {
  TimerHeap heap;
  heap.grow(3);
  heap.set(0, Instant{30});
  heap.set(1, Instant{20});
  heap.set(2, Instant{40});
  EXPECT_EQ(heap.earliest_owner(), 1U);
  heap.set(2, Instant{10});
  EXPECT_EQ(heap.earliest_owner(), 2U);
  heap.set(2, Instant{50});
  EXPECT_EQ(heap.earliest_owner(), 1U);
  heap.set(1, Instant::never());
  EXPECT_EQ(heap.earliest(), Instant{30});
  heap.set(0, Instant::never());
  heap.set(2, Instant::never());
  EXPECT_EQ(heap.earliest(), Instant::never());
}

TEST(TimerHeap, earliest_owner__ties_go_to_the_lower_owner) {
  TimerHeap heap;
  heap.grow(4);
  for (const std::uint32_t owner : {3U, 1U, 2U}) heap.set(owner, Instant{10});
  EXPECT_EQ(heap.earliest_owner(), 1U);
  heap.set(1, Instant{11});
  EXPECT_EQ(heap.earliest_owner(), 2U);
}

TEST(TimerHeap, grow__keeps_what_is_set) {
  TimerHeap heap;
  heap.grow(1);
  heap.set(0, Instant{5});
  heap.grow(3);
  heap.set(2, Instant{4});
  EXPECT_EQ(heap.earliest_owner(), 2U);
  heap.set(2, Instant::never());
  EXPECT_EQ(heap.earliest_owner(), 0U);
}

TEST(TimerHeap, set__random_operations_match_a_scan) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    TimerHeap heap;
    heap.grow(20);
    std::vector<Instant> model(20, Instant::never());
    for (int step = 0; step < 500; ++step) {
      const auto owner = static_cast<std::uint32_t>(prng.below(20));
      model[owner] = prng.below(4) == 0 ? Instant::never()
                                        : Instant{static_cast<std::int64_t>(prng.below(50))};
      heap.set(owner, model[owner]);
      const auto least = std::min_element(model.begin(), model.end());
      ASSERT_EQ(heap.earliest(), *least);
      if (*least == Instant::never()) continue;
      ASSERT_EQ(heap.earliest_owner(), static_cast<std::uint32_t>(least - model.begin()));
    }
  }
}

}  // namespace
}  // namespace zhinu::core

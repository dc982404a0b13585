#include "sim/net/event_queue.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace zhinu::sim {
namespace {

TEST(EventQueue, next_at__never_without_events) {
  const EventQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next_at(), Instant::never());
}

TEST(EventQueue, pop__ties_come_in_the_order_of_pushing) {
  EventQueue queue;
  for (std::uint64_t i = 0; i < 100; ++i) queue.push(Instant{5}, 1, 2, i);
  queue.push(Instant{4}, 1, 2, 1'000);
  EXPECT_EQ(queue.pop().value, 1'000U);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(queue.pop().value, i);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, pop__never_goes_back_in_time) {
  EventQueue queue;
  Prng prng(7);
  Instant last;
  for (int round = 0; round < 20'000; ++round) {
    if (queue.empty() || prng.below(3) != 0) {
      const auto ahead = static_cast<std::int64_t>(prng.below(1'000));
      queue.push(last + nanoseconds(ahead), 1, 0, 0);
    } else {
      const Event event = queue.pop();
      ASSERT_GE(event.at, last);
      last = event.at;
    }
  }
}

}  // namespace
}  // namespace zhinu::sim

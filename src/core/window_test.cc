// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/window.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr Duration kRtt = microseconds(20);
constexpr Duration kCalm = microseconds(1);     // far below the target
constexpr Duration kMiddle = microseconds(30);  // below the target, but there is a queue
constexpr Duration kTarget = microseconds(50);
constexpr WindowOptions kOptions{.initial_bytes = 1'024 * 1'024,
                                 .min_bytes = 16 * 1'024,
                                 .max_bytes = 64 * 1'024 * 1'024,
                                 .target_delay = kTarget};
constexpr std::uint64_t kPacket = 8'192;

// A window and the time; each round fills the window and acknowledges all of it.
struct Flow {
  Window window{kOptions};
  Instant now = Instant{} + seconds(1);

  void fill() {
    while (window.room() >= kPacket) window.on_sent(kPacket);
  }
  // One RTT later everything is acknowledged, by one ACK.
  void acknowledge(Duration queue_delay, std::uint32_t marked_per_mille = 0) {
    now = now + kRtt;
    window.on_acked(now, window.in_flight(), kRtt, queue_delay, marked_per_mille);
  }
  // Returns what the round changed.
  std::int64_t round(Duration queue_delay, std::uint32_t marked_per_mille = 0) {
    const std::uint64_t before = window.bytes();
    fill();
    acknowledge(queue_delay, marked_per_mille);
    return static_cast<std::int64_t>(window.bytes()) - static_cast<std::int64_t>(before);
  }
  void leave_slow_start() { round(kMiddle); }
};

TEST(Window, constructor__clamps_the_initial_size) {
  WindowOptions options = kOptions;
  options.initial_bytes = 1;
  EXPECT_EQ(Window(options).bytes(), options.min_bytes);
  options.initial_bytes = options.max_bytes + 1;
  EXPECT_EQ(Window(options).bytes(), options.max_bytes);
}

TEST(Window, room__full_and_overfull) {
  Window window(kOptions);
  EXPECT_EQ(window.room(), kOptions.initial_bytes);
  window.on_sent(kOptions.initial_bytes);
  EXPECT_EQ(window.room(), 0U);
  window.on_sent(100);
  EXPECT_EQ(window.room(), 0U);
  EXPECT_EQ(window.in_flight(), kOptions.initial_bytes + 100);
}

TEST(Window, on_lost__makes_room_and_leaves_the_size) {
  Window window(kOptions);
  window.on_sent(kOptions.initial_bytes);
  window.on_lost(1'000);
  EXPECT_EQ(window.room(), 1'000U);
  EXPECT_EQ(window.bytes(), kOptions.initial_bytes);
}

TEST(WindowDeathTest, on_acked__more_than_in_flight) {
  Window window(kOptions);
  window.on_sent(10);
  EXPECT_DEATH(window.on_acked(Instant{}, 11, kRtt, kCalm, 0), "in_flight_");
  EXPECT_DEATH(window.on_lost(11), "in_flight_");
}

TEST(Window, on_acked__slow_start_doubles) {
  Flow flow;
  EXPECT_EQ(flow.round(kCalm), 1'024 * 1'024);
  EXPECT_EQ(flow.round(kCalm), 2 * 1'024 * 1'024);
}

TEST(Window, on_acked__slow_start_adds_what_was_acknowledged) {
  Flow flow;
  flow.fill();
  flow.window.on_acked(flow.now, kPacket, kRtt, kCalm, 0);
  EXPECT_EQ(flow.window.bytes(), 1'024 * 1'024 + kPacket);
}

TEST(Window, on_acked__slow_start_ends_at_the_first_queue) {
  Flow flow;
  flow.round(kCalm);
  EXPECT_EQ(flow.round(kMiddle), 8 * 1'024) << "a packet a round";
  EXPECT_EQ(flow.round(kCalm), 8 * 1'024) << "and it does not come back";
}

TEST(Window, on_acked__moves_once_a_round) {
  Flow flow;
  flow.leave_slow_start();
  const std::uint64_t before = flow.window.bytes();
  flow.fill();
  const Instant start = flow.now;
  for (std::int64_t us = 1; us < 20; ++us) {
    flow.window.on_acked(start + microseconds(us), kPacket, kRtt, kMiddle, 0);
    flow.window.on_sent(kPacket);
    ASSERT_EQ(flow.window.bytes(), before);
  }
  flow.window.on_acked(start + kRtt, kPacket, kRtt, kMiddle, 0);
  EXPECT_EQ(flow.window.bytes(), before + 8 * 1'024);
}

TEST(Window, on_acked__long_calm_grows_by_a_quarter) {
  Flow flow;
  flow.leave_slow_start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(flow.round(kCalm), 8 * 1'024) << i;
  const auto quarter = static_cast<std::int64_t>(flow.window.bytes() / 4);
  EXPECT_EQ(flow.round(kCalm), quarter);
  EXPECT_EQ(flow.round(kMiddle), 8 * 1'024) << "a queue ends it";
  EXPECT_EQ(flow.round(kCalm), 8 * 1'024);
}

TEST(Window, on_congestion__begins_the_calm_rounds_anew) {
  Flow flow;
  flow.leave_slow_start();
  for (int i = 0; i < 5; ++i) flow.round(kCalm);
  flow.window.on_congestion(flow.now + kRtt, kRtt);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(flow.round(kCalm), 8 * 1'024) << i;
  EXPECT_GT(flow.round(kCalm), 8 * 1'024);
}

TEST(Window, on_acked__cut_begins_the_calm_rounds_anew) {
  Flow flow;
  flow.leave_slow_start();
  for (int i = 0; i < 5; ++i) flow.round(kCalm);
  flow.round(2 * kTarget);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(flow.round(kCalm), 8 * 1'024) << i;
  EXPECT_GT(flow.round(kCalm), 8 * 1'024);
}

TEST(Window, on_acked__never_grows_when_it_was_not_the_limit) {
  Flow flow;
  for (int i = 0; i < 100; ++i) {
    flow.window.on_sent(kOptions.initial_bytes - 64 * 1'024);
    flow.acknowledge(kCalm);
    ASSERT_EQ(flow.window.bytes(), kOptions.initial_bytes);
  }
}

TEST(Window, on_acked__limit_reached_at_any_time_of_the_round_counts) {
  Flow flow;
  flow.leave_slow_start();
  const std::uint64_t before = flow.window.bytes();
  flow.fill();
  flow.window.on_acked(flow.now + microseconds(5), flow.window.in_flight(), kRtt, kMiddle, 0);
  flow.window.on_sent(kPacket);
  flow.window.on_acked(flow.now + kRtt, kPacket, kRtt, kMiddle, 0);
  EXPECT_EQ(flow.window.bytes(), before + 8 * 1'024);
  flow.window.on_sent(kPacket);
  flow.window.on_acked(flow.now + 2 * kRtt, kPacket, kRtt, kMiddle, 0);
  EXPECT_EQ(flow.window.bytes(), before + 8 * 1'024) << "in that round it was not";
}

TEST(Window, on_acked__limited_flow_whose_round_ends_with_the_window_full) {
  Flow flow;
  flow.leave_slow_start();
  flow.window.on_sent(flow.window.bytes() + 4 * kPacket);
  flow.window.on_acked(flow.now + kRtt, kPacket, kRtt, kMiddle, 0);
  const std::uint64_t before = flow.window.bytes();
  // Nothing is sent in this round, but the window was full for all of it.
  flow.window.on_acked(flow.now + 2 * kRtt, kPacket, kRtt, kMiddle, 0);
  EXPECT_EQ(flow.window.bytes(), before + 8 * 1'024);
}

TEST(Window, on_acked__delay_just_above_the_target_cuts_little) {
  Flow flow;
  const std::int64_t change = flow.round(kTarget + kTarget / 10);
  EXPECT_LT(change, 0);
  EXPECT_GT(change, -1'024 * 1'024 / 10);
}

TEST(Window, on_acked__delay_at_the_target_cuts_nothing) {
  Flow flow;
  EXPECT_GE(flow.round(kTarget), 0);
}

TEST(Window, on_acked__twice_the_target_cuts_two_fifths) {
  Flow flow;
  EXPECT_NEAR(static_cast<double>(flow.round(2 * kTarget)), -0.4 * 1'024 * 1'024, 3'000);
}

TEST(Window, on_acked__any_delay_cuts_at_most_half) {
  for (const Duration delay : {10 * kTarget, seconds(3), seconds(1'000'000)}) {
    Flow flow;
    EXPECT_EQ(flow.round(delay), -512 * 1'024);
  }
}

TEST(Window, on_acked__marks_cut_half_their_share) {
  Flow all;
  EXPECT_EQ(all.round(kCalm, 1'000), -512 * 1'024);
  Flow some;
  EXPECT_NEAR(static_cast<double>(some.round(kCalm, 100)), -0.05 * 1'024 * 1'024, 1'100);
  Flow too_many;
  EXPECT_EQ(too_many.round(kCalm, 4'000'000), -512 * 1'024);
}

TEST(Window, on_acked__one_mark_ends_slow_start) {
  Flow flow;
  EXPECT_LE(flow.round(kCalm, 1), 0);
  EXPECT_EQ(flow.round(kCalm), 8 * 1'024);
}

TEST(Window, on_acked__delay_and_marks_take_the_larger_cut) {
  Flow flow;
  EXPECT_NEAR(static_cast<double>(flow.round(2 * kTarget, 100)), -0.4 * 1'024 * 1'024, 3'000);
}

TEST(Window, on_acked__cuts_even_when_it_was_not_the_limit) {
  Flow flow;
  flow.window.on_sent(kPacket);
  flow.acknowledge(2 * kTarget);
  EXPECT_LT(flow.window.bytes(), kOptions.initial_bytes);
}

TEST(Window, on_acked__stays_within_its_bounds) {
  Flow flow;
  for (int i = 0; i < 100; ++i) flow.round(kCalm);
  EXPECT_EQ(flow.window.bytes(), kOptions.max_bytes);
  for (int i = 0; i < 100; ++i) flow.round(10 * kTarget);
  EXPECT_EQ(flow.window.bytes(), kOptions.min_bytes);
  EXPECT_EQ(flow.round(kMiddle), 8 * 1'024) << "from the smallest size it grows again";
}

TEST(Window, on_path_dead__shrinks_by_the_share) {
  Flow flow;
  flow.window.on_path_dead(250);
  EXPECT_NEAR(static_cast<double>(flow.window.bytes()), 0.75 * 1'024 * 1'024, 1'000);
  EXPECT_EQ(flow.round(kCalm), 8 * 1'024) << "slow start is over";
}

TEST(Window, on_path_dead__nothing_and_everything) {
  Window window(kOptions);
  window.on_path_dead(0);
  EXPECT_EQ(window.bytes(), kOptions.initial_bytes);
  window.on_path_dead(1'000);
  EXPECT_EQ(window.bytes(), kOptions.min_bytes);
}

TEST(Window, on_congestion__halves_once_a_round) {
  Window window(kOptions);
  const Instant now = Instant{} + seconds(1);
  window.on_congestion(now, kRtt);
  EXPECT_EQ(window.bytes(), kOptions.initial_bytes / 2);
  window.on_congestion(now + microseconds(19), kRtt);
  EXPECT_EQ(window.bytes(), kOptions.initial_bytes / 2);
  window.on_congestion(now + kRtt, kRtt);
  EXPECT_EQ(window.bytes(), kOptions.initial_bytes / 4);
}

TEST(Window, on_congestion__and_delay_of_the_same_round_cut_once) {
  Flow flow;
  flow.window.on_congestion(flow.now + microseconds(10), kRtt);
  EXPECT_EQ(flow.round(10 * kTarget), 0);
  EXPECT_LT(flow.round(10 * kTarget), 0) << "in the next round the delay counts";
}

TEST(Window, on_congestion__after_a_cut_by_delay_in_the_same_round) {
  Flow flow;
  flow.round(10 * kTarget);
  flow.window.on_congestion(flow.now + microseconds(1), kRtt);
  EXPECT_EQ(flow.window.bytes(), kOptions.initial_bytes / 2);
}

// A bottleneck of one queue: the window must find its size and keep the queue short.
TEST(Window, bottleneck__settles_around_the_target) {
  Flow flow;
  constexpr std::uint64_t kBytesPerUs = 12'500;  // 100 Gb/s
  std::uint64_t worst_us = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t time_us = flow.window.bytes() / kBytesPerUs;
    const std::uint64_t queue_us = time_us > 20 ? time_us - 20 : 0;
    flow.round(microseconds(static_cast<std::int64_t>(queue_us)));
    if (i > 1'000) worst_us = std::max(worst_us, queue_us);
  }
  EXPECT_GT(flow.window.bytes(), 20 * kBytesPerUs) << "the link is full";
  EXPECT_LT(worst_us, 60U);
}

TEST(Window, random_operations_keep_the_bounds) {
  EXPECT_TRUE(rc::check("bounds and half a round", [](std::uint64_t seed) {
    Prng prng(seed);
    Window window(kOptions);
    Instant now;
    std::uint64_t in_flight = 0;
    for (int step = 0; step < 3'000; ++step) {
      const std::uint64_t before = window.bytes();
      const std::uint64_t bytes = prng.below(in_flight + 1);
      now = now + Duration{static_cast<std::int64_t>(prng.below(30'000))};
      switch (prng.below(6)) {
        case 0:
          window.on_path_dead(static_cast<std::uint32_t>(prng.below(1'001)));
          RC_ASSERT(window.bytes() <= before);
          break;
        case 1:
          window.on_congestion(now, kRtt);
          RC_ASSERT(window.bytes() <= before);
          RC_ASSERT(window.bytes() >= before / 2);
          break;
        case 2:
          window.on_lost(bytes);
          in_flight -= bytes;
          RC_ASSERT(window.bytes() == before);
          break;
        case 3:
          window.on_acked(now, bytes, kRtt,
                          Duration{static_cast<std::int64_t>(prng.below(1 << 20))},
                          prng.below(3) == 0 ? static_cast<std::uint32_t>(prng.below(1'001)) : 0);
          in_flight -= bytes;
          RC_ASSERT(window.bytes() <= 2 * before);
          RC_ASSERT(window.bytes() >= before / 2);
          break;
        default:
          const std::uint64_t sent = window.room() / 2 + 1;
          window.on_sent(sent);
          in_flight += sent;
          break;
      }
      RC_ASSERT(window.in_flight() == in_flight);
      RC_ASSERT(window.bytes() >= kOptions.min_bytes && window.bytes() <= kOptions.max_bytes);
    }
  }));
}

}  // namespace
}  // namespace zhinu::core

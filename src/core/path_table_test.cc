// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/path_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr Duration kInitialRtt = milliseconds(1);
constexpr std::uint32_t kTrain = 64 * 1024;
constexpr std::uint32_t kPacket = 8'192;

Instant at_us(std::int64_t us) { return Instant{} + seconds(1) + microseconds(us); }

struct Fixture {
  PathTable table;

  explicit Fixture(std::uint32_t paths, std::uint64_t seed = 1, const PathOptions& options = {})
      : table(options, kInitialRtt, kTrain, PathTable::kPathsMax, seed) {
    for (std::uint32_t i = 0; i < paths; ++i) add(256);
  }
  std::uint8_t add(std::uint16_t weight) {
    PathConfig config;
    config.weight = weight;
    config.group = static_cast<std::uint8_t>(table.size());
    return table.add(config).value();
  }
  // One packet there and acknowledged.
  void exchange(std::uint8_t path, Instant sent_at, Duration rtt, std::uint32_t marked = 0) {
    table.on_sent(sent_at, path, kPacket);
    table.on_ack(sent_at + rtt, path, kPacket, 1, sent_at, Duration{}, marked);
  }
  // The paths of the next `count` trains of one packet; nothing is sent.
  std::map<std::uint8_t, int> trains(int count) {
    std::map<std::uint8_t, int> chosen;
    for (int i = 0; i < count; ++i) {
      ++chosen[table.choose(kPacket).value()];
      table.end_train();
    }
    return chosen;
  }
  void lose(std::uint8_t path, std::uint32_t packets) {
    table.on_sent(at_us(0), path, kPacket);
    table.on_lost(at_us(1), path, kPacket, packets);
  }
};

// Setting up.

TEST(PathTable, add__full) {
  PathTable table({}, kInitialRtt, kTrain, 2, 1);
  EXPECT_EQ(table.add({}).value(), 0U);
  EXPECT_EQ(table.add({}).value(), 1U);
  EXPECT_EQ(table.add({}).error(), Errc::kFull);
  EXPECT_EQ(table.size(), 2U);
}

TEST(PathTable, add__all_64_paths_work) {
  Fixture f(64);
  EXPECT_EQ(f.table.add({}).error(), Errc::kFull);
  for (const auto& [path, count] : f.trains(64)) EXPECT_EQ(count, 1) << int{path};
  f.exchange(63, at_us(0), microseconds(9));
  EXPECT_EQ(f.table.best(), 63);
}

TEST(PathTable, add__new_path_is_good_and_keeps_its_configuration) {
  PathTable table({}, kInitialRtt, kTrain, 2, 1);
  PathConfig config;
  config.key = 4'711;
  config.weight = 100;
  const std::uint8_t path = table.add(config).value();
  EXPECT_EQ(table.state(path), PathState::kGood);
  EXPECT_TRUE(table.usable(path));
  EXPECT_FALSE(table.usable(1));
  EXPECT_EQ(table.config(path).key, 4'711U);
  EXPECT_EQ(table.weight(path), 100U);
}

TEST(PathTableDeathTest, constructor__options_that_cannot_be) {
  EXPECT_DEATH(PathTable({}, kInitialRtt, kTrain, 65, 1), "kPathsMax");
  EXPECT_DEATH(PathTable({}, {}, kTrain, 1, 1), "initial_rtt");
  PathOptions options;
  options.skip_packets_min = 10;
  options.skip_packets_max = 9;
  EXPECT_DEATH(PathTable(options, kInitialRtt, kTrain, 1, 1), "skip_packets");
}

TEST(PathTableDeathTest, path_that_was_not_added) {
  Fixture f(1);
  EXPECT_DEATH(f.table.state(1), "count_");
  EXPECT_DEATH(f.table.on_sent(at_us(0), 1, 1), "count_");
}

TEST(PathTable, bytes_per_path__within_the_budget) {
  EXPECT_LE(PathTable::bytes_per_path(), 256U);
  EXPECT_GT(PathTable::bytes_per_path(), sizeof(PathConfig));
}

// Choosing a path.

TEST(PathTable, choose__no_path) {
  Fixture f(0);
  EXPECT_FALSE(f.table.choose(1).has_value());
}

TEST(PathTable, choose__one_path) {
  Fixture f(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(f.table.choose(kPacket), 0);
}

TEST(PathTable, choose__train_stays_on_its_path_until_it_is_full) {
  Fixture f(2);
  const std::uint8_t first = f.table.choose(kPacket).value();
  for (std::uint32_t bytes = 2 * kPacket; bytes <= kTrain; bytes += kPacket) {
    ASSERT_EQ(f.table.choose(kPacket), first);
  }
  EXPECT_NE(f.table.choose(kPacket), first);
}

TEST(PathTable, choose__packet_that_does_not_fit_the_train_begins_the_next) {
  Fixture f(2);
  const std::uint8_t first = f.table.choose(kTrain - 100).value();
  EXPECT_NE(f.table.choose(101), first);
  EXPECT_NE(f.table.choose(kTrain), f.table.choose(kTrain)) << "of the size of a train";
  EXPECT_NE(f.table.choose(2 * kTrain), f.table.choose(2 * kTrain)) << "and above";
}

TEST(PathTable, choose__end_train) {
  Fixture f(2);
  const std::uint8_t first = f.table.choose(1).value();
  f.table.end_train();
  EXPECT_NE(f.table.choose(1), first);
}

TEST(PathTable, choose__fewest_bytes_in_flight) {
  Fixture f(3);
  f.table.on_sent(at_us(0), 0, 2 * kPacket);
  f.table.on_sent(at_us(0), 1, kPacket);
  f.table.on_sent(at_us(0), 2, 3 * kPacket);
  EXPECT_EQ(f.table.choose(1), 1);
  f.table.end_train();
  f.table.on_sent(at_us(0), 1, 4 * kPacket);
  EXPECT_EQ(f.table.choose(1), 0);
}

TEST(PathTable, choose__in_flight_over_weight) {
  Fixture f(0);
  f.add(100);
  f.add(300);
  f.table.on_sent(at_us(0), 0, 1'000);
  f.table.on_sent(at_us(0), 1, 2'999);
  EXPECT_EQ(f.table.choose(1), 1);
  f.table.end_train();
  f.table.on_sent(at_us(0), 1, 2);
  EXPECT_EQ(f.table.choose(1), 0);
}

TEST(PathTable, choose__ties_in_turn) {
  Fixture f(4);
  std::vector<std::uint8_t> order;
  for (int i = 0; i < 8; ++i) {
    order.push_back(f.table.choose(kPacket).value());
    f.table.end_train();
  }
  EXPECT_EQ(std::set<std::uint8_t>(order.begin(), order.begin() + 4).size(), 4U);
  EXPECT_EQ(std::vector(order.begin(), order.begin() + 4),
            std::vector(order.begin() + 4, order.end()));
}

TEST(PathTable, choose__ties_in_turn_by_weight) {
  Fixture f(0);
  f.add(256);
  f.add(128);
  f.add(64);
  EXPECT_EQ(f.trains(700), (std::map<std::uint8_t, int>{{0, 400}, {1, 200}, {2, 100}}));
}

TEST(PathTable, choose__lossy_path_gets_less_but_some) {
  Fixture f(2);
  f.lose(1, 256);
  const auto chosen = f.trains(900);
  EXPECT_EQ(chosen.at(1), 100);
}

TEST(PathTable, choose__standby_path_only_without_others) {
  Fixture f(0);
  f.add(0);
  EXPECT_EQ(f.table.choose(1), 0);
  f.add(1);
  f.table.end_train();
  EXPECT_EQ(f.trains(10), (std::map<std::uint8_t, int>{{1, 10}}));
}

TEST(PathTable, choose__standby_paths_share_alike) {
  Fixture f(0);
  f.add(0);
  f.add(0);
  EXPECT_EQ(f.trains(10), (std::map<std::uint8_t, int>{{0, 5}, {1, 5}}));
}

TEST(PathTable, choose__many_ties_among_changing_sets_stay_bounded) {
  Fixture f(3);
  Prng prng(5);
  std::map<std::uint8_t, int> chosen;
  for (int i = 0; i < 30'000; ++i) {
    const auto busy = static_cast<std::uint8_t>(prng.below(3));
    f.table.on_sent(at_us(i), busy, 1);
    const std::uint8_t path = f.table.choose(1).value();
    EXPECT_NE(path, busy);
    ++chosen[path];
    f.table.end_train();
    f.table.on_ack(at_us(i), busy, 1, 1, at_us(i), Duration{}, 0);
  }
  for (std::uint8_t path = 0; path < 3; ++path) EXPECT_NEAR(chosen[path], 10'000, 300);
}

// The best path.

TEST(PathTable, best__no_path) { EXPECT_FALSE(Fixture(0).table.best().has_value()); }

TEST(PathTable, best__lowest_rtt) {
  Fixture f(3);
  f.exchange(0, at_us(0), microseconds(300));
  f.exchange(1, at_us(1'000), microseconds(100));
  f.exchange(2, at_us(2'000), microseconds(200));
  EXPECT_EQ(f.table.best(), 1);
}

TEST(PathTable, best__path_without_a_sample_counts_with_the_initial_rtt) {
  Fixture f(2);
  f.exchange(0, at_us(0), milliseconds(3));
  EXPECT_EQ(f.table.best(), 1);
  f.exchange(0, at_us(5'000), microseconds(1));
  for (int i = 0; i < 40; ++i) f.exchange(0, at_us(6'000 + i * 1'000), microseconds(1));
  EXPECT_EQ(f.table.best(), 0);
}

TEST(PathTable, rotate_ack_path__visits_all_before_it_repeats) {
  Fixture f(3);
  f.exchange(0, at_us(0), microseconds(100));
  f.exchange(1, at_us(1'000), microseconds(200));
  f.exchange(2, at_us(2'000), microseconds(300));
  ASSERT_EQ(f.table.best(), 0);
  f.table.rotate_ack_path();
  EXPECT_EQ(f.table.best(), 1);
  f.table.rotate_ack_path();
  EXPECT_EQ(f.table.best(), 2);
  f.table.rotate_ack_path();
  EXPECT_EQ(f.table.best(), 0);
  f.table.rotate_ack_path();
  EXPECT_EQ(f.table.best(), 1);
}

TEST(PathTable, rotate_ack_path__one_path_or_none) {
  Fixture none(0);
  none.table.rotate_ack_path();
  EXPECT_FALSE(none.table.best().has_value());
  Fixture one(1);
  one.table.rotate_ack_path();
  EXPECT_EQ(one.table.best(), 0);
}

TEST(PathTable, rotate_ack_path__path_comes_back_when_it_was_acknowledged) {
  Fixture f(2);
  f.exchange(0, at_us(0), microseconds(100));
  f.exchange(1, at_us(1'000), microseconds(200));
  f.table.rotate_ack_path();
  f.exchange(1, at_us(5'000), microseconds(200));
  EXPECT_EQ(f.table.best(), 1);
  f.exchange(0, at_us(9'000), microseconds(100));
  EXPECT_EQ(f.table.best(), 0);
}

// Packet numbers.

TEST(PathTable, next_number__starts_at_zero_and_counts_per_path) {
  Fixture f(2);
  EXPECT_EQ(f.table.largest_sent(0), 0U);
  EXPECT_EQ(f.table.next_number(0).value, 0U);
  EXPECT_EQ(f.table.next_number(0).value, 1U);
  EXPECT_EQ(f.table.next_number(1).value, 0U);
  EXPECT_EQ(f.table.largest_sent(0), 1U);
  EXPECT_EQ(f.table.largest_sent(1), 0U);
}

TEST(PathTable, next_number__skips_within_the_bounds) {
  PathOptions options;
  options.skip_packets_min = 5;
  options.skip_packets_max = 9;
  Fixture f(1, 1, options);
  std::set<std::uint64_t> gaps;
  std::uint64_t expected = 0;
  std::uint64_t since = 0;
  for (int i = 0; i < 10'000; ++i) {
    const PathTable::Number number = f.table.next_number(0);
    if (number.skipped) {
      ASSERT_EQ(*number.skipped, expected);
      gaps.insert(since);
      since = 0;
      ++expected;
    }
    ASSERT_EQ(number.value, expected);
    ASSERT_EQ(f.table.largest_sent(0), expected);
    ++expected;
    ++since;
  }
  EXPECT_EQ(gaps, (std::set<std::uint64_t>{5, 6, 7, 8, 9}));
}

TEST(PathTable, next_number__smallest_gap_skips_every_second_number) {
  PathOptions options;
  options.skip_packets_min = 1;
  options.skip_packets_max = 1;
  Fixture f(1, 1, options);
  EXPECT_EQ(f.table.next_number(0).value, 0U);
  for (std::uint64_t i = 1; i < 100; ++i) {
    const PathTable::Number number = f.table.next_number(0);
    EXPECT_EQ(number.skipped, 2 * i - 1);
    EXPECT_EQ(number.value, 2 * i);
  }
}

std::vector<std::uint64_t> skipped_numbers(std::uint32_t paths, std::uint64_t seed) {
  Fixture f(paths, seed);
  std::vector<std::uint64_t> skipped;
  for (int i = 0; i < 5'000; ++i) {
    const auto number = f.table.next_number(0);
    if (number.skipped) skipped.push_back(*number.skipped);
  }
  return skipped;
}

TEST(PathTable, next_number__gaps_follow_the_seed_only) {
  EXPECT_EQ(skipped_numbers(1, 1), skipped_numbers(1, 1));
  EXPECT_EQ(skipped_numbers(1, 1), skipped_numbers(3, 1)) << "another path changes nothing";
  EXPECT_NE(skipped_numbers(1, 1), skipped_numbers(1, 2));
}

TEST(PathTable, renew__paths_are_as_they_were_when_they_were_added) {
  Fixture f(2);
  f.add(0);  // standby
  for (int i = 0; i < 500; ++i) f.table.next_number(1);
  f.exchange(1, at_us(0), microseconds(80));
  f.lose(0, 3);
  f.table.renew(2);
  const Fixture fresh(2, 2);
  ASSERT_EQ(f.table.size(), 3U);
  for (std::uint8_t path = 0; path < 2; ++path) {
    EXPECT_EQ(f.table.config(path).group, path);
    EXPECT_EQ(f.table.state(path), PathState::kGood);
    EXPECT_EQ(f.table.smoothed_rtt(path), Duration{});
    EXPECT_EQ(f.table.packets_lost(path), 0U);
    EXPECT_EQ(f.table.in_flight_bytes(path), 0U);
    EXPECT_EQ(f.table.largest_sent(path), 0U);
    EXPECT_EQ(f.table.weight(path), fresh.table.weight(path));
  }
  EXPECT_EQ(f.table.best_rtt(), kInitialRtt);
  EXPECT_EQ(f.trains(10), (std::map<std::uint8_t, int>{{0, 5}, {1, 5}}));
  Fixture other(3, 2);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(f.table.next_number(1).value, other.table.next_number(1).value) << "of the new seed";
  }
}

// Measurements.

TEST(PathTable, on_ack__measures_the_rtt) {
  Fixture f(1);
  EXPECT_EQ(f.table.smoothed_rtt(0), Duration{});
  EXPECT_EQ(f.table.best_rtt(), kInitialRtt);
  f.exchange(0, at_us(0), microseconds(80));
  EXPECT_EQ(f.table.smoothed_rtt(0), microseconds(80));
  EXPECT_EQ(f.table.rtt_variation(0), microseconds(40));
  EXPECT_EQ(f.table.min_rtt(0), microseconds(80));
  EXPECT_EQ(f.table.best_rtt(), microseconds(80));
}

TEST(PathTable, on_ack__without_a_send_time_measures_nothing) {
  Fixture f(1);
  f.table.on_sent(at_us(0), 0, kPacket);
  f.table.on_ack(at_us(9), 0, kPacket, 1, std::nullopt, Duration{}, 0);
  EXPECT_EQ(f.table.smoothed_rtt(0), Duration{});
  EXPECT_EQ(f.table.in_flight_bytes(0), 0U);
}

TEST(PathTable, on_ack__peer_delay_is_taken_off) {
  Fixture f(1);
  f.exchange(0, at_us(0), microseconds(80));
  f.table.on_sent(at_us(100), 0, kPacket);
  f.table.on_ack(at_us(200), 0, kPacket, 1, at_us(100), microseconds(20), 0);
  EXPECT_EQ(f.table.smoothed_rtt(0), microseconds(80));
}

TEST(PathTable, in_flight_bytes__sent_acknowledged_and_lost) {
  Fixture f(1);
  f.table.on_sent(at_us(0), 0, 300);
  f.table.on_sent(at_us(0), 0, 200);
  EXPECT_EQ(f.table.in_flight_bytes(0), 500U);
  f.table.on_ack(at_us(1), 0, 100, 1, at_us(0), Duration{}, 0);
  f.table.on_lost(at_us(1), 0, 150, 3);
  EXPECT_EQ(f.table.in_flight_bytes(0), 250U);
  EXPECT_EQ(f.table.packets_lost(0), 3U);
}

TEST(PathTable, median_loss_per_mille__one_bad_path_of_three_is_not_the_median) {
  Fixture f(3);
  for (std::uint8_t path = 0; path < 3; ++path) {
    f.table.on_sent(at_us(0), path, 1'000);
    f.table.on_ack(at_us(100), path, 100, 1, at_us(0), Duration{}, 0);
  }
  f.table.on_lost(at_us(101), 0, 100, 64);
  f.table.on_ack(at_us(1'000), 1, 100, 1, at_us(900), Duration{}, 0);
  EXPECT_EQ(f.table.median_loss_per_mille(), 0U);
  f.table.on_lost(at_us(1'001), 1, 100, 64);
  f.table.on_ack(at_us(1'100), 2, 100, 1, at_us(1'000), Duration{}, 0);
  f.table.on_ack(at_us(1'101), 0, 100, 1, at_us(1'001), Duration{}, 0);
  f.table.on_ack(at_us(2'000), 1, 100, 1, at_us(1'900), Duration{}, 0);
  EXPECT_GT(f.table.median_loss_per_mille(), 100U);
}

TEST(PathTable, packets_sent__numbers_given_out_without_the_skipped_ones) {
  Fixture f(1);
  std::uint64_t skipped = 0;
  for (int i = 0; i < 2'000; ++i) skipped += f.table.next_number(0).skipped ? 1U : 0U;
  EXPECT_GT(skipped, 0U);
  EXPECT_EQ(f.table.packets_sent(0), 2'000U);
}

TEST(PathTableDeathTest, on_ack__more_than_in_flight) {
  Fixture f(1);
  f.table.on_sent(at_us(0), 0, 300);
  EXPECT_DEATH(f.table.on_ack(at_us(1), 0, 301, 1, at_us(0), Duration{}, 0), "in_flight");
  EXPECT_DEATH(f.table.on_lost(at_us(1), 0, 301, 1), "in_flight");
}

TEST(PathTable, probe_timeout__without_a_sample) {
  Fixture f(1);
  EXPECT_EQ(f.table.probe_timeout(0, microseconds(20)), 3 * kInitialRtt + microseconds(20));
}

TEST(PathTable, probe_timeout__smoothed_and_four_variations) {
  Fixture f(1);
  f.exchange(0, at_us(0), microseconds(80));
  EXPECT_EQ(f.table.probe_timeout(0, microseconds(20)), microseconds(80 + 4 * 40 + 20));
}

TEST(PathTable, probe_timeout__steady_path_has_a_floor) {
  Fixture f(1);
  for (int i = 0; i < 200; ++i) f.exchange(0, at_us(100 * i), microseconds(80));
  EXPECT_EQ(f.table.probe_timeout(0, {}), microseconds(180));
}

TEST(PathTable, loss_delay__rtt_and_room_for_reordering) {
  Fixture f(1);
  EXPECT_EQ(f.table.loss_delay(0), kInitialRtt + kInitialRtt / 4);
  f.exchange(0, at_us(0), microseconds(400));
  EXPECT_EQ(f.table.loss_delay(0), microseconds(400 + 200)) << "the first variation is half";
  for (int i = 1; i < 100; ++i) f.exchange(0, at_us(1'000 * i), microseconds(400));
  EXPECT_EQ(f.table.loss_delay(0), microseconds(400 + 100));
}

TEST(PathTable, loss_delay__short_path_has_a_floor) {
  Fixture f(1);
  for (int i = 0; i < 100; ++i) f.exchange(0, at_us(1'000 * i), microseconds(12));
  EXPECT_EQ(f.table.loss_delay(0), microseconds(12 + 20));
}

TEST(PathTable, best__stays_among_equals) {
  Fixture f(3);
  f.exchange(1, at_us(0), microseconds(100));
  ASSERT_EQ(f.table.best(), 1);
  f.exchange(0, at_us(1'000), microseconds(100));
  f.exchange(2, at_us(2'000), microseconds(100));
  EXPECT_EQ(f.table.best(), 1) << "ACKs do not hop from path to path";
}

TEST(PathTable, best_rtt__smallest_of_the_good_paths) {
  Fixture f(2);
  f.exchange(0, at_us(0), microseconds(300));
  f.exchange(1, at_us(1'000), microseconds(100));
  EXPECT_EQ(f.table.best_rtt(), microseconds(100));
}

TEST(PathTable, share_per_mille__of_the_weights) {
  Fixture f(0);
  f.add(100);
  f.add(300);
  EXPECT_EQ(f.table.share_per_mille(0), 250U);
  EXPECT_EQ(f.table.share_per_mille(1), 750U);
  f.add(0);
  EXPECT_EQ(f.table.share_per_mille(2), 0U);
  Fixture standby(0);
  standby.add(0);
  EXPECT_EQ(standby.table.share_per_mille(0), 0U);
}

TEST(PathTable, weight__shrinks_with_loss_and_grows_back) {
  Fixture f(1);
  f.lose(0, 20);
  const std::uint16_t after_loss = f.table.weight(0);
  EXPECT_LT(after_loss, 200U);
  std::int64_t us = 10;
  for (int i = 0; i < 2'000; ++i, us += 10) f.exchange(0, at_us(us), microseconds(5));
  EXPECT_EQ(f.table.weight(0), 256U);
}

// Medians.

TEST(PathTable, median_queue_delay__no_sample) {
  Fixture f(3);
  EXPECT_EQ(f.table.median_queue_delay(), Duration{});
  EXPECT_EQ(f.table.median_marked_per_mille(), 0U);
}

// What one path does in each of the rounds below. A list is in the order of the delays.
struct Load {
  std::uint8_t path = 0;
  Duration queue_delay;
  std::uint32_t marked = 0;
};

// First a round without queues, then many with them, each of 60 us.
void run_rounds(Fixture& f, const std::vector<Load>& loads) {
  for (std::int64_t round = 0; round < 20; ++round) {
    const Instant sent_at = at_us(60 * round);
    for (const Load& load : loads) f.table.on_sent(sent_at, load.path, kPacket);
    for (const Load& load : loads) {
      const Duration rtt = microseconds(20) + (round > 0 ? load.queue_delay : Duration{});
      f.table.on_ack(sent_at + rtt, load.path, kPacket, 1, sent_at, Duration{}, load.marked);
    }
  }
}

void expect_queue_delay(const Fixture& f, Duration expected) {
  EXPECT_NEAR(static_cast<double>(f.table.median_queue_delay().ns),
              static_cast<double>(expected.ns), 10);
}

TEST(PathTable, median_queue_delay__of_an_odd_number_is_the_middle) {
  Fixture f(3);
  run_rounds(f, {{1, microseconds(0)}, {0, microseconds(20)}, {2, microseconds(30)}});
  expect_queue_delay(f, microseconds(20));
}

TEST(PathTable, median_queue_delay__of_an_even_number_is_the_lower) {
  Fixture f(2);
  run_rounds(f, {{1, microseconds(20)}, {0, microseconds(30)}});
  expect_queue_delay(f, microseconds(20));
}

TEST(PathTable, median_queue_delay__one_path) {
  Fixture f(1);
  run_rounds(f, {{0, microseconds(30)}});
  expect_queue_delay(f, microseconds(30));
}

TEST(PathTable, median_queue_delay__paths_that_fell_silent_do_not_count) {
  Fixture f(3);
  run_rounds(f, {{0, microseconds(0)}, {1, microseconds(30)}, {2, microseconds(30)}});
  expect_queue_delay(f, microseconds(30));
  f.exchange(0, at_us(5'000), microseconds(20));
  expect_queue_delay(f, {});
}

TEST(PathTable, median_queue_delay__at_most_half_an_rtt_old) {
  Fixture f(1);
  f.exchange(0, at_us(0), microseconds(20));
  f.exchange(0, at_us(10), microseconds(60));
  const Duration before = f.table.median_queue_delay();
  EXPECT_GT(before, Duration{});
  f.table.on_sent(at_us(71), 0, kPacket);
  f.table.on_ack(at_us(72), 0, kPacket, 1, at_us(10), Duration{}, 0);
  EXPECT_EQ(f.table.median_queue_delay(), before);
  f.table.on_sent(at_us(73), 0, kPacket);
  f.table.on_ack(at_us(83), 0, kPacket, 1, at_us(10), Duration{}, 0);
  EXPECT_GT(f.table.median_queue_delay(), before);
}

TEST(PathTable, median_marked_per_mille__one_marked_path_of_three) {
  Fixture f(3);
  run_rounds(f, {{0, {}, 1}, {1, {}, 0}, {2, {}, 0}});
  EXPECT_EQ(f.table.median_marked_per_mille(), 0U);
}

TEST(PathTable, median_marked_per_mille__two_marked_paths_of_three) {
  Fixture f(3);
  run_rounds(f, {{0, {}, 1}, {1, {}, 1}, {2, {}, 0}});
  EXPECT_EQ(f.table.median_marked_per_mille(), 1'000U);
}

// Under load the bytes in flight follow the weights, whatever the ACKs do.
TEST(PathTable, random_load_follows_the_weights) {
  EXPECT_TRUE(rc::check("shares of bytes in flight", [](std::uint64_t seed) {
    Prng prng(seed);
    Fixture f(0);
    std::uint64_t weights = 0;
    for (std::uint64_t i = 2 + prng.below(6); i > 0; --i) {
      const auto weight = static_cast<std::uint16_t>(64 + prng.below(400));
      f.add(weight);
      weights += weight;
    }
    std::uint64_t in_flight = 0;
    for (int step = 0; step < 20'000; ++step) {
      const Instant now = at_us(step);
      if (in_flight < 100 * kTrain) {
        const std::uint8_t path = f.table.choose(kPacket).value();
        f.table.on_sent(now, path, kPacket);
        in_flight += kPacket;
      }
      const auto path = static_cast<std::uint8_t>(prng.below(f.table.size()));
      if (f.table.in_flight_bytes(path) >= kPacket && prng.below(2) == 0) {
        f.table.on_ack(now, path, kPacket, 1, now, Duration{}, 0);
        in_flight -= kPacket;
      }
    }
    while (in_flight < 200 * kTrain) {
      const std::uint8_t path = f.table.choose(kPacket).value();
      f.table.on_sent(at_us(20'000), path, kPacket);
      in_flight += kPacket;
    }
    for (std::uint8_t path = 0; path < f.table.size(); ++path) {
      const std::uint64_t share = in_flight * f.table.weight(path) / weights;
      RC_ASSERT(f.table.in_flight_bytes(path) <= share + 2 * kTrain);
      RC_ASSERT(f.table.in_flight_bytes(path) + 2 * kTrain >= share);
    }
  }));
}

}  // namespace
}  // namespace zhinu::core

// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/in_path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {

struct InPathStart {
  // As if all packets up to `largest` had arrived.
  static void at(InPath& path, std::uint64_t largest) {
    path.bitmap_.fill(~0ULL);
    path.largest_ = largest;
    path.seen_any_ = true;
  }
};

namespace {

constexpr std::uint64_t kWindow = InPath::kWindowPackets;
constexpr Duration kDelay = microseconds(20);
constexpr std::uint32_t kBytesMax = 100'000;

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges ranges_of(const InPath& path, std::size_t most = 64) {
  std::vector<wire::AckRange> out(most);
  const std::uint32_t count = path.ranges(out);
  Ranges ranges;
  for (std::uint32_t i = 0; i < count; ++i) ranges.emplace_back(out[i].first, out[i].last);
  return ranges;
}

Instant at_us(std::int64_t us) { return Instant{} + microseconds(us); }

void arrive(InPath& path, std::uint64_t number) {
  path.on_packet(Instant{}, number, 1'000, true, false);
}

void arrive_all(InPath& path, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t number = first; number < end; ++number) arrive(path, number);
}

Instant deadline_of(const InPath& path) { return path.ack_deadline(kDelay, kBytesMax); }

TEST(InPath, expected_number__before_and_after_packets) {
  InPath path;
  EXPECT_EQ(path.expected_number(), 0U);
  arrive(path, 7);
  EXPECT_EQ(path.expected_number(), 8U);
  arrive(path, 3);
  EXPECT_EQ(path.expected_number(), 8U);
}

TEST(InPath, check__fresh_path_takes_any_number) {
  const InPath path;
  EXPECT_TRUE(path.check(0).ok());
  EXPECT_TRUE(path.check(~0ULL).ok());
}

TEST(InPath, check__replayed) {
  InPath path;
  arrive(path, 5);
  EXPECT_EQ(path.check(5).error(), Errc::kReplayed);
  EXPECT_TRUE(path.check(4).ok());
  EXPECT_TRUE(path.check(6).ok());
  arrive_all(path, 6, 700);
  EXPECT_EQ(path.check(5).error(), Errc::kReplayed);
  EXPECT_TRUE(path.check(4).ok());
}

TEST(InPath, check__bottom_of_the_window) {
  InPath path;
  arrive(path, 5'000);
  EXPECT_TRUE(path.check(5'000 - kWindow + 1).ok());
  EXPECT_EQ(path.check(5'000 - kWindow).error(), Errc::kTooOld);
  EXPECT_EQ(path.check(0).error(), Errc::kTooOld);
}

TEST(InPath, check__leap_forgets_the_bits_that_it_passes) {
  for (const std::uint64_t leap :
       {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 1'023ULL, 1'024ULL, 1'025ULL, 5'000ULL, 1ULL << 40}) {
    InPath path;
    arrive_all(path, 0, 3'000);
    arrive(path, 2'999 + leap);
    for (std::uint64_t number = 3'000; number < 2'999 + leap && number < 8'000; ++number) {
      const bool in_window = number + kWindow > 2'999 + leap;
      ASSERT_EQ(path.check(number).error(), in_window ? Errc::kOk : Errc::kTooOld)
          << "leap " << leap << " number " << number;
    }
    const bool old_in_window = leap < kWindow;
    EXPECT_EQ(path.check(2'999).error(), old_in_window ? Errc::kReplayed : Errc::kTooOld) << leap;
  }
}

TEST(InPathDeathTest, on_packet__number_that_check_refuses) {
  InPath path;
  arrive(path, 2'000);
  EXPECT_DEATH(arrive(path, 2'000), "check");
  EXPECT_DEATH(arrive(path, 900), "check");
}

TEST(InPath, ranges__before_the_first_packet) { EXPECT_TRUE(ranges_of(InPath()).empty()); }

TEST(InPath, ranges__one_packet) {
  InPath path;
  arrive(path, 0);
  EXPECT_EQ(ranges_of(path), (Ranges{{0, 0}}));
  InPath late;
  arrive(late, 77'777);
  EXPECT_EQ(ranges_of(late), (Ranges{{77'777, 77'777}}));
}

TEST(InPath, ranges__everything_arrived_reaches_below_the_bitmap) {
  InPath path;
  arrive_all(path, 0, 5'000);
  EXPECT_EQ(ranges_of(path), (Ranges{{0, 4'999}}));
}

TEST(InPath, ranges__last_gap_below_the_bitmap_ends_the_range) {
  InPath path;
  arrive_all(path, 0, 500);
  arrive_all(path, 501, 800);
  arrive_all(path, 802, 4'000);
  EXPECT_EQ(ranges_of(path), (Ranges{{802, 3'999}}));
}

TEST(InPath, ranges__gap_that_a_leap_moves_below_the_bitmap_ends_the_range) {
  for (std::uint64_t gap = 500; gap < 640; ++gap) {
    for (const std::uint64_t leap : {2ULL, 9ULL, 70ULL}) {
      InPath path;
      arrive_all(path, 0, gap);
      arrive_all(path, gap + 1, gap + kWindow);  // the gap is the bottom of the bitmap
      const std::uint64_t largest = gap + kWindow - 1 + leap;
      arrive(path, largest);
      arrive_all(path, gap + kWindow, largest);
      ASSERT_EQ(ranges_of(path), (Ranges{{gap + 1, largest}})) << gap << " " << leap;
    }
  }
}

TEST(InPath, ranges__highest_first) {
  InPath path;
  for (const std::uint64_t number : {3U, 0U, 9U, 1U, 8U, 5U}) arrive(path, number);
  EXPECT_EQ(ranges_of(path), (Ranges{{8, 9}, {5, 5}, {3, 3}, {0, 1}}));
}

TEST(InPath, ranges__no_more_than_there_is_room_for) {
  InPath path;
  for (std::uint64_t number = 0; number < 100; number += 2) arrive(path, number);
  EXPECT_EQ(ranges_of(path, 2), (Ranges{{98, 98}, {96, 96}}));
  EXPECT_EQ(ranges_of(path, 1), (Ranges{{98, 98}}));
  EXPECT_EQ(ranges_of(path, 64).size(), 50U);
}

TEST(InPath, ranges__gap_at_the_bottom_of_the_bitmap) {
  InPath path;
  arrive_all(path, 0, 1'000);
  arrive_all(path, 1'100, 2'100);  // the bitmap begins at 1'076, in the gap
  EXPECT_EQ(ranges_of(path), (Ranges{{1'100, 2'099}}));
}

TEST(InPath, ranges__run_ends_right_at_the_bottom_of_the_bitmap) {
  InPath path;
  arrive_all(path, 0, 1'000);
  arrive_all(path, 1'001, 1'000 + kWindow);  // the bitmap begins at 1'000, the only gap
  EXPECT_EQ(ranges_of(path), (Ranges{{1'001, 1'999 + 24}}));
  arrive(path, 1'000 + kWindow);
  EXPECT_EQ(ranges_of(path), (Ranges{{1'001, 1'000 + kWindow}}));
  EXPECT_EQ(path.check(1'000).error(), Errc::kTooOld);
}

TEST(InPath, ranges__gap_filled_at_the_bottom_of_the_bitmap) {
  InPath path;
  arrive_all(path, 0, 1'000);
  arrive_all(path, 1'001, 1'000 + kWindow);
  arrive(path, 1'000);
  EXPECT_EQ(ranges_of(path), (Ranges{{0, 999 + kWindow}}));
}

TEST(InPath, ranges__leap_of_a_whole_window_forgets_what_was_below) {
  InPath path;
  arrive_all(path, 0, 3'000);
  arrive(path, 3'000 + kWindow);
  EXPECT_EQ(ranges_of(path), (Ranges{{3'000 + kWindow, 3'000 + kWindow}}));
  arrive_all(path, 3'001, 3'000 + kWindow);
  EXPECT_EQ(ranges_of(path), (Ranges{{3'001, 3'000 + kWindow}}));
}

TEST(InPath, ranges__one_less_than_a_whole_window_keeps_the_last_packet) {
  InPath path;
  arrive_all(path, 0, 3'000);
  arrive(path, 2'998 + kWindow);
  EXPECT_EQ(ranges_of(path), (Ranges{{2'998 + kWindow, 2'998 + kWindow}, {0, 2'999}}));
}

TEST(InPath, ranges__no_longer_than_the_wire_can_say) {
  InPath path;
  InPathStart::at(path, 1ULL << 40);
  EXPECT_EQ(ranges_of(path), (Ranges{{(1ULL << 40) - (1ULL << 31) + 1, 1ULL << 40}}));
  arrive(path, (1ULL << 40) + 2);
  EXPECT_EQ(ranges_of(path).size(), 2U);
}

TEST(InPath, ack_deadline__nothing_owed) {
  InPath path;
  EXPECT_EQ(deadline_of(path), Instant::never());
  path.on_packet(at_us(5), 0, 100, false, false);
  EXPECT_FALSE(path.owes_ack());
  EXPECT_EQ(deadline_of(path), Instant::never());
}

TEST(InPath, ack_deadline__after_the_first_unacknowledged_arrival) {
  InPath path;
  path.on_packet(at_us(5), 0, 100, true, false);
  path.on_packet(at_us(9), 1, 100, true, false);
  EXPECT_TRUE(path.owes_ack());
  EXPECT_EQ(deadline_of(path), at_us(25));
  path.on_ack_sent();
  EXPECT_FALSE(path.owes_ack());
  path.on_packet(at_us(50), 2, 100, true, false);
  EXPECT_EQ(deadline_of(path), at_us(70));
}

TEST(InPath, ack_deadline__at_once_when_enough_bytes_arrived) {
  InPath path;
  path.on_packet(at_us(5), 0, 60'000, true, false);
  EXPECT_EQ(deadline_of(path), at_us(25));
  path.on_packet(at_us(6), 1, 40'000, true, false);
  EXPECT_LE(deadline_of(path), at_us(6));
  path.on_ack_sent();
  path.on_packet(at_us(7), 2, 60'000, true, false);
  EXPECT_EQ(deadline_of(path), at_us(27));
}

TEST(InPath, ack_deadline__at_once_when_a_gap_appears) {
  InPath path;
  arrive(path, 0);
  path.on_ack_sent();
  path.on_packet(at_us(5), 2, 100, true, false);
  EXPECT_LE(deadline_of(path), at_us(5));
}

TEST(InPath, ack_deadline__at_once_when_a_gap_is_filled) {
  InPath path;
  arrive(path, 0);
  arrive(path, 2);
  path.on_ack_sent();
  path.on_packet(at_us(5), 1, 100, true, false);
  EXPECT_LE(deadline_of(path), at_us(5));
}

TEST(InPath, ack_deadline__first_packet_is_not_number_zero) {
  InPath path;
  path.on_packet(at_us(5), 1, 100, true, false);
  EXPECT_LE(deadline_of(path), at_us(5)) << "number 0 may be lost";
}

TEST(InPath, ack_deadline__at_once_at_an_ecn_mark) {
  InPath path;
  path.on_packet(at_us(5), 0, 100, true, true);
  EXPECT_LE(deadline_of(path), at_us(5));
}

TEST(InPath, ack_deadline__gap_behind_packets_that_need_no_ack) {
  InPath path;
  arrive(path, 0);
  path.on_ack_sent();
  path.on_packet(at_us(5), 2, 100, false, false);
  EXPECT_EQ(deadline_of(path), Instant::never());
  path.on_packet(at_us(6), 3, 100, true, false);
  EXPECT_EQ(deadline_of(path), at_us(26));
}

TEST(InPath, ack_deadline__byte_count_stays_at_its_top) {
  InPath path;
  for (std::uint64_t number = 0; number < 3; ++number) {
    path.on_packet(at_us(5), number, 0x7fff'ffff, true, false);
  }
  EXPECT_LE(deadline_of(path), at_us(5));
  EXPECT_TRUE(path.owes_ack());
}

TEST(InPath, ack_deadline__packet_of_zero_bytes_still_owes) {
  InPath path;
  path.on_packet(at_us(5), 0, 0, true, false);
  EXPECT_TRUE(path.owes_ack());
}

TEST(InPath, force_ack__nothing_arrived_yet) {
  InPath path;
  path.force_ack(at_us(5));
  EXPECT_FALSE(path.owes_ack());
}

TEST(InPath, force_ack__with_nothing_owed) {
  InPath path;
  arrive(path, 0);
  path.on_ack_sent();
  path.force_ack(at_us(5));
  EXPECT_TRUE(path.owes_ack());
  EXPECT_LE(deadline_of(path), at_us(5));
  path.on_ack_sent();
  EXPECT_EQ(deadline_of(path), Instant::never());
}

TEST(InPath, force_ack__makes_a_waiting_ack_immediate) {
  InPath path;
  path.on_packet(at_us(5), 0, 100, true, false);
  path.force_ack(at_us(8));
  EXPECT_LE(deadline_of(path), at_us(8));
}

TEST(InPath, delay__since_the_largest_number) {
  InPath path;
  path.on_packet(at_us(10), 4, 100, true, false);
  path.on_packet(at_us(15), 3, 100, true, false);
  EXPECT_EQ(path.delay(at_us(18)), microseconds(8));
}

TEST(InPath, ecn_marked__counts_all_packets) {
  InPath path;
  path.on_packet(at_us(0), 0, 100, true, true);
  path.on_packet(at_us(0), 1, 100, true, false);
  path.on_packet(at_us(0), 3, 100, false, true);
  path.on_packet(at_us(0), 2, 100, true, true);
  path.on_ack_sent();
  EXPECT_EQ(path.ecn_marked(), 3U);
}

// The reference: a set of all numbers that arrived.
Ranges reference_ranges(const std::set<std::uint64_t>& arrived) {
  Ranges ranges;
  for (auto it = arrived.rbegin(); it != arrived.rend(); ++it) {
    if (!ranges.empty() && *it + 1 == ranges.back().first) {
      ranges.back().first = *it;
    } else {
      ranges.emplace_back(*it, *it);
    }
  }
  return ranges;
}

void compare_with_reference(std::uint64_t seed) {
  Prng prng(seed);
  InPath path;
  std::set<std::uint64_t> arrived;
  std::uint64_t largest = 0;
  const std::uint64_t spread = prng.below(2) == 0 ? 20 : 2 * kWindow;
  for (int step = 0; step < 4'000; ++step) {
    std::uint64_t number = largest + 1;
    if (arrived.empty() || prng.below(8) == 0) number += prng.below(spread);
    if (prng.below(6) == 0) number -= std::min(number, prng.below(spread));
    const bool too_old = !arrived.empty() && number + kWindow <= largest;
    const Errc expected = too_old                      ? Errc::kTooOld
                          : arrived.count(number) != 0 ? Errc::kReplayed
                                                       : Errc::kOk;
    RC_ASSERT(path.check(number).error() == expected);
    if (expected != Errc::kOk) continue;
    arrive(path, number);
    arrived.insert(number);
    largest = std::max(largest, number);

    if (prng.below(16) != 0) continue;
    const std::size_t room = 1 + prng.below(40);
    const Ranges ranges = ranges_of(path, room);
    Ranges wanted = reference_ranges(arrived);
    // What lies wholly below the bitmap is forgotten.
    std::erase_if(wanted, [&](const auto& range) { return range.second + kWindow <= largest; });
    if (wanted.size() > room) wanted.resize(room);
    RC_ASSERT(ranges == wanted);
  }
}

TEST(InPath, random_packets_equal_the_reference) {
  EXPECT_TRUE(rc::check("a set of numbers", compare_with_reference));
}

}  // namespace
}  // namespace zhinu::core

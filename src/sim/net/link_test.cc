#include "sim/net/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace zhinu::sim {
namespace {

constexpr Instant kStart = Instant{} + seconds(1);

// A link of 8 Gbit/s: one byte takes one nanosecond.
LinkOptions options() {
  return {.rate_bits_per_s = 8'000'000'000,
          .delay = microseconds(1),
          .queue_bytes = 10'000,
          .ecn_bytes = 3'000};
}

struct Probe {
  explicit Probe(std::uint32_t size) : bytes(size) {
    packet.bytes = bytes.data();
    packet.size = size;
  }
  std::vector<std::byte> bytes;
  Datagram packet;
};

TEST(Link, offer__takes_the_time_of_the_bytes_and_the_delay) {
  Link link(options(), 1, 0);
  Probe a(1'000);
  Probe b(500);
  EXPECT_EQ(link.offer(kStart, a.packet).arrives_at, kStart + nanoseconds(2'000));
  EXPECT_EQ(link.queued_bytes(kStart), 1'000U);
  EXPECT_EQ(link.offer(kStart, b.packet).arrives_at, kStart + nanoseconds(2'500));
  EXPECT_EQ(link.queued_bytes(kStart + nanoseconds(1'500)), 0U);
}

TEST(Link, offer__marks_above_the_threshold_and_drops_above_the_limit) {
  Link link(options(), 1, 0);
  std::uint32_t marked = 0;
  std::uint32_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    Probe probe(1'000);
    if (link.offer(kStart, probe.packet).fate == Link::Fate::kForwarded) ++taken;
    if (probe.packet.ecn_marked) ++marked;
  }
  EXPECT_EQ(taken, 10U);
  EXPECT_EQ(marked, 6U);  // those that found 4,000 bytes or more
  EXPECT_EQ(link.counters().queue_full, 10U);
}

TEST(Link, offer__cut_drops_and_clog_holds_up_to_the_limit) {
  Link link(options(), 1, 0);
  PacketPool pool;
  LinkFaults faults;
  faults.cut = true;
  link.set_faults(faults);
  Probe probe(1'000);
  EXPECT_EQ(link.offer(kStart, probe.packet).fate, Link::Fate::kDropped);

  faults = {};
  faults.clogged = true;
  link.set_faults(faults);
  std::vector<PacketId> held;
  for (int i = 0; i < 12; ++i) {
    const PacketId id = pool.acquire(1'000);
    if (link.offer(kStart, pool[id]).fate != Link::Fate::kStuck) continue;
    link.hold(pool, id);
    held.push_back(id);
  }
  EXPECT_EQ(held.size(), 10U);
  for (const PacketId id : held) EXPECT_EQ(link.take_held(pool), id);
  EXPECT_TRUE(link.take_held(pool).is_none());
}

TEST(Link, offer__rate_and_extra_delay_of_a_gray_link) {
  Link link(options(), 1, 0);
  LinkFaults faults;
  faults.rate_per_mille = 100;
  faults.extra_delay = microseconds(5);
  link.set_faults(faults);
  Probe probe(1'000);
  EXPECT_EQ(link.offer(kStart, probe.packet).arrives_at, kStart + microseconds(10 + 1 + 5));
}

TEST(Link, offer__loss_duplication_and_reordering_come_about_as_often_as_asked) {
  Link link(options(), 3, 0);
  LinkFaults faults;
  faults.loss_ppm = 100'000;
  faults.duplicate_ppm = 200'000;
  faults.reorder_ppm = 300'000;
  faults.reorder_delay = microseconds(50);
  link.set_faults(faults);
  Instant now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    Probe probe(100);
    link.offer(now, probe.packet);
    now = now + microseconds(1);
  }
  EXPECT_NEAR(static_cast<double>(link.counters().lost), 1'000, 150);
  EXPECT_NEAR(static_cast<double>(link.counters().duplicated), 1'800, 200);
  EXPECT_NEAR(static_cast<double>(link.counters().reordered), 2'700, 250);
}

TEST(Link, offer__corruption_changes_at_most_three_bits_or_cuts_the_end_off) {
  Link link(options(), 3, 0);
  LinkFaults faults;
  faults.corrupt_ppm = 1'000'000;
  link.set_faults(faults);
  Instant now = kStart;
  for (int i = 0; i < 1'000; ++i) {
    Probe probe(100);
    ASSERT_EQ(link.offer(now, probe.packet).fate, Link::Fate::kForwarded);
    now = now + microseconds(1);
    int flipped = 0;
    for (const std::byte byte : probe.bytes)
      flipped += __builtin_popcount(std::to_integer<unsigned>(byte));
    EXPECT_LE(flipped, 3);
    EXPECT_GE(probe.packet.size, 1U);
    EXPECT_TRUE(flipped == 0 || probe.packet.size == 100);
  }
  EXPECT_EQ(link.counters().corrupted, 1'000U);
}

TEST(Link, offer__same_seed_same_dice) {
  LinkFaults faults;
  faults.loss_ppm = 500'000;
  Link a(options(), 9, 4);
  Link b(options(), 9, 4);
  a.set_faults(faults);
  b.set_faults(faults);
  for (int i = 0; i < 100; ++i) {
    Probe one(10);
    Probe two(10);
    const Instant now = kStart + microseconds(i);
    EXPECT_EQ(a.offer(now, one.packet).fate, b.offer(now, two.packet).fate);
  }
}

}  // namespace
}  // namespace zhinu::sim

// Key phases: when they move, which packets still open, and that nobody gets lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/aead.h"
#include "base/prng.h"
#include "core/handshake_samples_test.h"
#include "core/key_schedule.h"
#include "core/seal.h"

namespace zhinu::core {
namespace {

using test::kStart;
using test::sample_material;
using test::sample_packet;

constexpr Duration kKept = milliseconds(10);
constexpr std::uint8_t kPath = 1;

struct Sealed {
  std::vector<std::byte> bytes;
  std::uint64_t number = 0;
  bool key_phase = false;
};

struct Side {
  Side(bool initiator, const Sealer::Limits& limits)
      : sealer(kStart, SealMode::kGmac, sample_material(), initiator, limits) {}

  Sealed send(Instant now) {
    Sealed packet{sample_packet(64), next_number++, sealer.phase_to_send(now)};
    sealer.seal(packet.bytes, {}, kPath, packet.number, packet.key_phase);
    return packet;
  }
  bool open(Instant now, const Sealed& packet) {
    return sealer.open(now, packet.bytes, kPath, packet.number, packet.key_phase);
  }

  Sealer sealer;
  std::uint64_t next_number = 0;
};

Sealed forged(Sealed packet) {
  packet.bytes.back() ^= std::byte{1};
  return packet;
}

class Rekey : public ::testing::Test {
 protected:
  explicit Rekey(const Sealer::Limits& limits = {.rekey_packets = 4, .old_phase_kept = kKept})
      : initiator_(true, limits), responder_(false, limits) {}

  bool to_responder(Instant now) { return responder_.open(now, initiator_.send(now)); }
  bool to_initiator(Instant now) { return initiator_.open(now, responder_.send(now)); }
  // The initiator moves, the responder follows, the initiator sees it.
  void move_both(Instant now) {
    const std::uint64_t before = initiator_.sealer.rekeys();
    for (int i = 0; i < 10 && initiator_.sealer.rekeys() == before; ++i) {
      ASSERT_TRUE(to_responder(now));
    }
    ASSERT_EQ(initiator_.sealer.rekeys(), before + 1);
    ASSERT_EQ(responder_.sealer.rekeys(), before + 1);
    ASSERT_TRUE(to_initiator(now));
  }

  Side initiator_;
  Side responder_;
};

TEST_F(Rekey, phase_to_send__moves_at_the_packet_limit) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(initiator_.send(kStart).key_phase);
  EXPECT_EQ(initiator_.sealer.rekeys(), 0U);
  EXPECT_TRUE(initiator_.send(kStart).key_phase);
  EXPECT_EQ(initiator_.sealer.rekeys(), 1U);
}

TEST_F(Rekey, phase_to_send__moves_when_the_peer_used_up_its_key) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(to_initiator(kStart));
  EXPECT_TRUE(initiator_.send(kStart).key_phase);
}

TEST_F(Rekey, phase_to_send__moves_at_the_interval) {
  const Sealer::Limits limits{.rekey_interval = seconds(60), .old_phase_kept = kKept};
  Side side(true, limits);
  EXPECT_FALSE(side.send(kStart + seconds(60) - nanoseconds(1)).key_phase);
  EXPECT_TRUE(side.send(kStart + seconds(60)).key_phase);
  EXPECT_EQ(side.sealer.rekeys(), 1U);
}

TEST_F(Rekey, phase_to_send__default_limits) {
  const Sealer::Limits limits;
  EXPECT_EQ(limits.rekey_packets, 1ULL << 32);
  EXPECT_EQ(limits.rekey_interval, seconds(24 * 3600));
}

TEST_F(Rekey, phase_to_send__the_responder_never_starts) {
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(responder_.send(kStart + seconds(i * 86'400)).key_phase);
  EXPECT_EQ(responder_.sealer.rekeys(), 0U);
}

TEST_F(Rekey, phase_to_send__not_before_the_peer_followed) {
  for (int i = 0; i < 100; ++i) initiator_.send(kStart + seconds(i));
  EXPECT_EQ(initiator_.sealer.rekeys(), 1U);
  // Packets of the old phase do not show that the peer follows.
  EXPECT_TRUE(to_initiator(kStart + seconds(100)));
  EXPECT_TRUE(initiator_.send(kStart + seconds(200)).key_phase);
  EXPECT_EQ(initiator_.sealer.rekeys(), 1U);

  EXPECT_TRUE(to_responder(kStart + seconds(201)));
  EXPECT_TRUE(to_initiator(kStart + seconds(201)));
  EXPECT_FALSE(initiator_.send(kStart + seconds(202)).key_phase);
  EXPECT_EQ(initiator_.sealer.rekeys(), 2U);
}

TEST_F(Rekey, phase_to_send__not_before_the_old_phase_has_drained) {
  move_both(kStart);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(initiator_.send(kStart + kKept * 2 - nanoseconds(1)).key_phase);
  }
  EXPECT_FALSE(initiator_.send(kStart + kKept * 2).key_phase);
  EXPECT_EQ(initiator_.sealer.rekeys(), 2U);
}

TEST_F(Rekey, open__the_responder_follows) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(to_responder(kStart));
  EXPECT_FALSE(responder_.send(kStart).key_phase);
  EXPECT_TRUE(to_responder(kStart));
  EXPECT_EQ(responder_.sealer.rekeys(), 1U);
  const Sealed answer = responder_.send(kStart);
  EXPECT_TRUE(answer.key_phase);
  EXPECT_TRUE(initiator_.open(kStart, answer));
}

TEST_F(Rekey, open__many_phases) {
  Instant now = kStart;
  for (std::uint64_t phase = 1; phase <= 50; ++phase) {
    move_both(now);
    EXPECT_EQ(responder_.sealer.rekeys(), phase);
    now = now + kKept * 2;
  }
}

TEST_F(Rekey, open__old_phase_at_the_responder_while_it_is_kept) {
  const Sealed old = initiator_.send(kStart);
  const Sealed late = initiator_.send(kStart);
  move_both(kStart);
  EXPECT_TRUE(responder_.open(kStart + kKept - nanoseconds(1), old));
  EXPECT_FALSE(responder_.open(kStart + kKept, late));
  EXPECT_EQ(responder_.sealer.rekeys(), 1U);
}

TEST_F(Rekey, open__old_phase_at_the_initiator_while_it_is_kept) {
  const Sealed old = responder_.send(kStart);
  const Sealed late = responder_.send(kStart);
  move_both(kStart);
  EXPECT_TRUE(initiator_.open(kStart + kKept - nanoseconds(1), old));
  EXPECT_FALSE(initiator_.open(kStart + kKept, late));
}

TEST_F(Rekey, open__old_phase_before_the_peer_followed) {
  const Sealed old = responder_.send(kStart);
  for (int i = 0; i < 5; ++i) initiator_.send(kStart);
  ASSERT_EQ(initiator_.sealer.rekeys(), 1U);
  // Not a matter of time: until the peer is seen to follow, its phase is the current one.
  EXPECT_TRUE(initiator_.open(kStart + kKept * 100, old));
}

TEST_F(Rekey, open__old_packet_does_not_move_back) {
  const Sealed old = initiator_.send(kStart);
  move_both(kStart);
  EXPECT_TRUE(responder_.open(kStart, old));
  EXPECT_TRUE(responder_.send(kStart).key_phase);
  EXPECT_TRUE(to_responder(kStart));
}

TEST_F(Rekey, open__packet_of_two_phases_ago) {
  const Sealed ancient = initiator_.send(kStart);
  move_both(kStart);
  move_both(kStart + kKept * 2);
  // Its phase bit is that of the current phase, its key is long gone.
  EXPECT_FALSE(responder_.open(kStart + kKept * 2, ancient));
  EXPECT_EQ(responder_.sealer.rekeys(), 2U);
}

TEST_F(Rekey, open__forged_packet_changes_nothing) {
  const Sealed current = initiator_.send(kStart);
  Sealed other = forged(current);
  other.key_phase = true;
  // In each state of the key of the other phase: next made ahead, old, and old run out.
  for (int phase = 0; phase < 4; ++phase) {
    const Instant now = kStart + kKept * (2 * phase);
    for (const Instant at : {now, now + kKept, now + kKept * 2}) {
      for (int i = 0; i < 50; ++i) {
        EXPECT_FALSE(responder_.open(at, other));
        EXPECT_FALSE(initiator_.open(at, other));
        other.key_phase = !other.key_phase;
      }
    }
    EXPECT_EQ(responder_.sealer.rekeys(), initiator_.sealer.rekeys());
    move_both(now + kKept * 2);
  }
}

TEST_F(Rekey, open__flipped_phase_bit) {
  Sealed packet = initiator_.send(kStart);
  packet.key_phase = true;
  EXPECT_FALSE(responder_.open(kStart, packet));
  EXPECT_EQ(responder_.sealer.rekeys(), 0U);
  packet.key_phase = false;
  EXPECT_TRUE(responder_.open(kStart, packet));
}

// A peer that has the keys and breaks the protocol.
TEST_F(Rekey, open__responder_that_moves_first_is_not_followed) {
  const GmacKernel kernel = best_gmac_kernel();
  const Secret next = phase_keys(traffic_secrets(sample_material()).responder, kernel).next;
  const GmacKey key(phase_keys(next, kernel).packet_key, kernel);
  Sealed packet{sample_packet(64), 0, true};
  const MutableByteSpan bytes(packet.bytes);
  const Tag tag = key.tag({.prefix = kPath, .counter = 0}, bytes.first(wire::kHeaderBytes),
                          bytes.subspan(wire::kFramesOffset));
  std::copy(tag.bytes.begin(), tag.bytes.end(), bytes.begin() + wire::kTagOffset);
  EXPECT_FALSE(initiator_.open(kStart, packet));
  // The packet is what it should be: it fits as soon as we have moved.
  for (int i = 0; i < 5; ++i) initiator_.send(kStart);
  EXPECT_TRUE(initiator_.open(kStart, packet));
}

TEST_F(Rekey, open__first_packet_ever_is_of_the_next_phase) {
  for (int i = 0; i < 4; ++i) initiator_.send(kStart);
  EXPECT_TRUE(to_responder(kStart));
  EXPECT_EQ(responder_.sealer.rekeys(), 1U);
  EXPECT_TRUE(to_initiator(kStart));
}

TEST_F(Rekey, open__next_phase_after_long_idleness) {
  move_both(kStart);
  // Nothing was opened since the old phase ran out: its key is replaced by this packet.
  const Instant later = kStart + seconds(1'000'000);
  for (int i = 0; i < 4; ++i) initiator_.send(later);
  const Sealed packet = initiator_.send(later);
  EXPECT_FALSE(packet.key_phase);
  EXPECT_TRUE(responder_.open(later, packet));
  EXPECT_EQ(responder_.sealer.rekeys(), 2U);
}

TEST(RekeyDeathTest, limits_of_zero_packets) {
  EXPECT_DEATH(Side(true, {.rekey_packets = 0}), "rekey_packets");
}

// A network with delay, reordering and loss in both directions, driven by one seed.
class RekeyNetwork : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  struct Flight {
    bool to_responder = false;
    Sealed packet;
  };

  void send(bool from_initiator, Instant now, Duration delay) {
    Side& side = from_initiator ? initiator_ : responder_;
    flights_.insert({now + delay, Flight{from_initiator, side.send(now)}});
  }
  // Returns the packets that did not open.
  int deliver(Instant now) {
    int refused = 0;
    while (!flights_.empty() && flights_.begin()->first <= now) {
      const auto& [arrives, flight] = *flights_.begin();
      Side& side = flight.to_responder ? responder_ : initiator_;
      if (!side.open(arrives, flight.packet)) ++refused;
      check_distance();
      flights_.erase(flights_.begin());
    }
    return refused;
  }
  void check_distance() const {
    const auto distance = static_cast<std::int64_t>(initiator_.sealer.rekeys()) -
                          static_cast<std::int64_t>(responder_.sealer.rekeys());
    ASSERT_GE(distance, 0);
    ASSERT_LE(distance, 1);
  }
  int run(Duration length, Duration delay_max, std::uint32_t lost_per_million);

  Prng prng_{GetParam()};
  Side initiator_{true, {.rekey_packets = 20, .old_phase_kept = kKept}};
  Side responder_{false, {.rekey_packets = 20, .old_phase_kept = kKept}};
  Instant now_ = kStart;
  std::multimap<Instant, Flight> flights_;  // by arrival
};

int RekeyNetwork::run(Duration length, Duration delay_max, std::uint32_t lost_per_million) {
  int refused = 0;
  for (const Instant end = now_ + length; now_ < end; now_ = now_ + microseconds(200)) {
    for (const bool from_initiator : {true, false}) {
      const auto delay = prng_.below(static_cast<std::uint64_t>(delay_max.ns));
      if (prng_.chance(lost_per_million)) {
        (from_initiator ? initiator_ : responder_).send(now_);
      } else {
        send(from_initiator, now_, Duration{static_cast<std::int64_t>(delay)});
      }
    }
    refused += deliver(now_);
  }
  return refused;
}

TEST_P(RekeyNetwork, every_packet_opens_that_is_no_later_than_the_old_phase_is_kept) {
  EXPECT_EQ(run(seconds(2), kKept, 0), 0);
  EXPECT_GE(responder_.sealer.rekeys(), 50U);
}

TEST_P(RekeyNetwork, every_packet_opens_though_a_third_is_lost) {
  EXPECT_EQ(run(seconds(2), kKept, 333'333), 0);
  EXPECT_GE(responder_.sealer.rekeys(), 50U);
}

TEST_P(RekeyNetwork, whole_phases_are_lost) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run(milliseconds(100), kKept / 2, 1'000'000), 0);
    EXPECT_EQ(run(milliseconds(100), kKept / 2, 100'000), 0);
  }
  EXPECT_GE(responder_.sealer.rekeys(), 20U);
}

TEST_P(RekeyNetwork, packets_that_are_too_late_are_lost_and_nothing_else) {
  EXPECT_GT(run(seconds(1), kKept * 8, 100'000), 0);
  deliver(now_ + kKept * 8);
  now_ = now_ + kKept * 8;
  EXPECT_EQ(run(seconds(1), kKept / 2, 0), 0);
}

// The seed in the name of the test replays it.
INSTANTIATE_TEST_SUITE_P(Seeds, RekeyNetwork, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace zhinu::core

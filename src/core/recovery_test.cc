#include "core/recovery.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Engine;
using test::engine_options;

// One packet of `bytes` on the path, with nothing in it that would be repeated.
std::uint32_t send_packet(Engine& engine, Peer& peer, std::uint32_t bytes = 1'000,
                          std::uint8_t path = 0) {
  const PathTable::Number number = peer.paths.next_number(path);
  if (number.skipped.has_value())
    engine.recovery.on_skipped(engine.now, peer, path, *number.skipped);
  const std::uint32_t slot = engine.state.sent_packets.acquire();
  SentPacket& sent = engine.state.sent_packets[slot];
  sent.number = number.value;
  sent.sent_at = engine.now;
  sent.bytes = bytes;
  sent.traffic_class = TrafficClass::kGradient;
  sent.path = path;
  sent.item_count = 1;
  peer.paths.on_sent(engine.now, path, bytes);
  engine.recovery.on_sent(peer, slot);
  return slot;
}
void send_packets(Engine& engine, Peer& peer, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) send_packet(engine, peer);
}

std::vector<std::uint64_t> in_flight(Engine& engine, const Peer& peer, std::uint8_t path = 0) {
  std::vector<std::uint64_t> numbers;
  for (std::uint32_t slot = peer.flights[path].sent.head; slot != kNoSlot;
       slot = engine.state.sent_packets[slot].next) {
    numbers.push_back(engine.state.sent_packets[slot].number);
  }
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

TEST(Recovery, on_sent__counts_packet_and_bytes) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 2);
  EXPECT_EQ(in_flight(engine, peer), (Numbers{0, 1}));
  EXPECT_EQ(peer.flights[0].eliciting, 2U);
  EXPECT_EQ(peer.eliciting, 2U);
  EXPECT_EQ(peer.owed_since, engine.now);
  EXPECT_EQ(peer.flow(TrafficClass::kGradient).window.in_flight(), 2'000U);
  EXPECT_EQ(peer.flow(TrafficClass::kWeights).window.in_flight(), 0U);
}

TEST(Recovery, on_ack__ranges_take_what_they_name_and_leave_the_gaps) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 8);
  engine.now = engine.now + microseconds(100);
  ASSERT_TRUE(engine.ack(peer, 0, {{6, 6}, {3, 4}, {1, 1}}));
  // 0 and 2 were overtaken by three and more, 5 by one, 7 by none.
  EXPECT_EQ(in_flight(engine, peer), (Numbers{5, 7}));
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 2U);
  EXPECT_EQ(peer.paths.packets_lost(0), 2U);
  EXPECT_EQ(peer.flights[0].eliciting, 2U);
  EXPECT_EQ(peer.flights[0].largest_acked, 6U);
  EXPECT_EQ(peer.flow(TrafficClass::kGradient).window.in_flight(), 2'000U);
  EXPECT_EQ(engine.state.sent_packets.used(), 2U);
}

TEST(Recovery, on_ack__three_later_packets_lose_one_and_two_do_not) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 4);
  ASSERT_TRUE(engine.ack(peer, 0, {{1, 2}}));
  EXPECT_EQ(in_flight(engine, peer), (Numbers{0, 3}));
  ASSERT_TRUE(engine.ack(peer, 0, {{1, 3}}));
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 1U);
  EXPECT_EQ(peer.eliciting, 0U);
  EXPECT_EQ(engine.recovery.timeout(peer), Instant::never());
}

TEST(Recovery, on_ack__again_changes_nothing) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 5);
  engine.now = engine.now + microseconds(100);
  ASSERT_TRUE(engine.ack(peer, 0, {{3, 4}}));
  const Duration rtt = peer.paths.smoothed_rtt(0);
  EXPECT_EQ(rtt, microseconds(100));
  const Numbers before = in_flight(engine, peer);
  engine.now = engine.now + milliseconds(50);
  ASSERT_TRUE(engine.ack(peer, 0, {{3, 4}}));
  EXPECT_EQ(in_flight(engine, peer), before);
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 2U);
  EXPECT_EQ(peer.paths.smoothed_rtt(0), rtt);
}

TEST(Recovery, on_ack__older_one_comes_late) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 3);
  ASSERT_TRUE(engine.ack(peer, 0, {{2, 2}, {0, 0}}));
  EXPECT_EQ(in_flight(engine, peer), Numbers{1});
  ASSERT_TRUE(engine.ack(peer, 0, {{1, 1}}));
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(peer.flights[0].largest_acked, 2U);
  EXPECT_EQ(peer.owed_since, Instant::never());
}

// What the peer says of a delay is of the largest number: an older one may be new here only
// because the ACK before was lost.
TEST(Recovery, on_ack__an_rtt_is_of_the_largest_number_only) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packet(engine, peer);
  engine.now = engine.now + seconds(2);
  peer.paths.next_number(0);  // a packet that elicits no ACK, and comes with an old one
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 1}}));
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(peer.paths.smoothed_rtt(0), Duration{});
  send_packets(engine, peer, 2);
  engine.now = engine.now + microseconds(100);
  ASSERT_TRUE(engine.ack(peer, 0, {{2, 3}}));
  EXPECT_EQ(peer.paths.smoothed_rtt(0), microseconds(100));
}

TEST(Recovery, on_ack__beyond_the_largest_is_a_violation) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 2);
  EXPECT_FALSE(engine.ack(peer, 0, {{2, 2}}));
  EXPECT_FALSE(engine.ack(peer, 0, {{0, 2}}));
  EXPECT_EQ(in_flight(engine, peer), (Numbers{0, 1}));
}

TEST(Recovery, on_ack__of_an_unknown_path_is_a_violation) {
  Engine engine;
  Peer& peer = engine.add_peer(2);
  send_packets(engine, peer, 1);
  EXPECT_FALSE(engine.ack(peer, 2, {{0, 0}}));
  EXPECT_TRUE(engine.ack(peer, 0, {{0, 0}}));
}

// The session after it would take the ACK of its own packet for a lie.
TEST(Recovery, on_skipped__no_trap_in_what_a_closed_session_says) {
  EndpointOptions options = engine_options();
  options.path.skip_packets_min = 1;
  options.path.skip_packets_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 2);
  EXPECT_EQ(in_flight(engine, peer), (Numbers{0, 1, 2}));
  engine.connections.close_peer(engine.now, peer, Errc::kPeerClosed);
  EXPECT_EQ(engine.drain(), 3U);
  EXPECT_GT(peer.paths.largest_sent(0), 5U);  // some were left out
  EXPECT_TRUE(peer.flights[0].sent.empty());
  EXPECT_EQ(engine.state.sent_packets.used(), 0U);
}

TEST(Recovery, on_ack__skipped_number_is_a_violation) {
  EndpointOptions options = engine_options();
  options.path.skip_packets_min = 2;
  options.path.skip_packets_max = 2;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 3);
  ASSERT_EQ(in_flight(engine, peer), (Numbers{0, 1, 2, 3}));  // 2 was left out
  EXPECT_EQ(peer.eliciting, 3U);
  EXPECT_FALSE(engine.ack(peer, 0, {{0, 3}}));
}

TEST(Recovery, on_ack__trap_stays_until_it_is_clearly_behind) {
  EndpointOptions options = engine_options();
  options.path.skip_packets_min = 4;
  options.path.skip_packets_max = 4;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 7);
  ASSERT_EQ(in_flight(engine, peer), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));  // 4 was left out
  ASSERT_TRUE(engine.ack(peer, 0, {{5, 6}, {0, 3}}));
  EXPECT_EQ(in_flight(engine, peer), (Numbers{4, 7}));
  ASSERT_TRUE(engine.ack(peer, 0, {{7, 7}}));
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 0U);
  EXPECT_EQ(engine.state.sent_packets.used(), 0U);
}

TEST(Recovery, handle_timeout__loss_by_time) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const Instant sent_at = engine.now;
  send_packets(engine, peer, 2);
  engine.now = sent_at + milliseconds(1);
  ASSERT_TRUE(engine.ack(peer, 0, {{1, 1}}));
  // RTT 1 ms and its variation, half of it.
  const Instant due = sent_at + microseconds(1'500);
  EXPECT_EQ(engine.recovery.timeout(peer), due);
  engine.recovery.handle_timeout(due - nanoseconds(1), peer);
  EXPECT_EQ(in_flight(engine, peer), Numbers{0});
  engine.recovery.handle_timeout(due, peer);
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 1U);
  EXPECT_EQ(engine.count(Counter::kProbeTimeouts), 0U);
}

TEST(Recovery, handle_timeout__probe_time_out_backs_off_to_the_maximum) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 1);
  // No RTT sample yet: 3 times the initial one, and the delay of an ACK.
  const Duration base = milliseconds(3) + microseconds(20);
  for (std::uint64_t round = 0; round < 12; ++round) {
    const Duration wait =
        std::min(base * (std::int64_t{1} << std::min<std::uint64_t>(round, 10)), seconds(1));
    ASSERT_EQ(engine.recovery.timeout(peer), engine.now + wait) << round;
    engine.now = engine.now + wait;
    engine.recovery.handle_timeout(engine.now, peer);
    ASSERT_EQ(engine.count(Counter::kProbeTimeouts), round + 1);
    ASSERT_EQ(engine.recovery.timeout(peer), Instant::never());  // until the probe left
    Transmit out;
    ASSERT_TRUE(engine.poll(out));
    ASSERT_EQ(test::kinds_of(out), std::vector{wire::FrameKind::kPathProbe});
    ASSERT_FALSE(engine.poll(out));
    ASSERT_EQ(engine.state.sent_packets.used(), 1U);  // the probe needs no record
  }
  EXPECT_EQ(in_flight(engine, peer), Numbers{0});  // silence alone loses nothing
}

TEST(Recovery, on_ack__of_a_probe_without_record_ends_the_back_off) {
  Engine engine;
  Peer& peer = engine.add_peer();
  send_packets(engine, peer, 1);
  for (int round = 0; round < 3; ++round) {
    engine.now = engine.recovery.timeout(peer);
    engine.recovery.handle_timeout(engine.now, peer);
    ASSERT_EQ(engine.drain(), 1U);
  }
  EXPECT_EQ(peer.flights[0].probe_backoff, 3U);
  ASSERT_TRUE(engine.ack(peer, 0, {{3, 3}}));
  EXPECT_EQ(peer.flights[0].probe_backoff, 0U);
  EXPECT_EQ(engine.count(Counter::kPacketsLost), 1U);  // overtaken by three probes
  EXPECT_EQ(peer.eliciting, 0U);
}

TEST(Recovery, flush_path__moves_ten_thousand_packets_at_once) {
  constexpr std::uint32_t kPackets = 10'000;
  constexpr std::uint32_t kSegmentBytes = 1'152;  // of a packet of 1,280 bytes
  EndpointOptions options = engine_options();
  options.sent_packets_max = kPackets + 64;
  options.window.initial_bytes = options.window.max_bytes;
  Engine engine(options);
  Peer& peer = engine.add_peer(1, 1'280);
  Flow& flow = peer.flow(TrafficClass::kGradient);
  const std::uint32_t slot = engine.send(peer, std::size_t{kPackets} * kSegmentBytes);
  ASSERT_EQ(engine.drain(), 1U);  // the announcement
  engine.grant_all(slot);
  ASSERT_EQ(engine.drain(), kPackets);
  ASSERT_EQ(peer.eliciting, kPackets + 1);
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));  // the announcement came, the rest is lost

  ASSERT_TRUE(peer.add_path(test::path_to(9, 1)).ok());
  engine.kill(peer, 0);
  const std::uint64_t window = flow.window.bytes();
  const std::uint32_t share = peer.paths.share_per_mille(0);
  EXPECT_EQ(share, 500U);
  engine.recovery.flush_path(engine.now, peer, 0);
  EXPECT_EQ(peer.eliciting, 0U);
  EXPECT_EQ(in_flight(engine, peer), Numbers{});
  EXPECT_EQ(flow.window.in_flight(), 0U);
  EXPECT_EQ(flow.window.bytes(), window - window / 1'000 * share);
  std::uint64_t next_offset = 0;
  std::uint32_t lost = 0;
  for (std::uint32_t at = flow.lost.head; at != kNoSlot; at = engine.state.sent_packets[at].next) {
    const SentPacket& packet = engine.state.sent_packets[at];
    ASSERT_EQ(packet.item_count, 1U);
    ASSERT_EQ(packet.items[0].offset, next_offset);
    next_offset += packet.items[0].length;
    ++lost;
  }
  EXPECT_EQ(lost, kPackets);
  EXPECT_EQ(next_offset, std::uint64_t{kPackets} * kSegmentBytes);
}

TEST(Recovery, flush_path__contents_are_paced_over_an_rtt) {
  Engine engine;
  Peer& peer = engine.add_peer(1, 1'280);
  Flow& flow = peer.flow(TrafficClass::kGradient);
  const std::uint32_t slot = engine.send(peer, 64 * 1'152);
  ASSERT_EQ(engine.drain(), 1U);
  engine.grant_all(slot);
  ASSERT_EQ(engine.drain(), 64U);
  ASSERT_TRUE(peer.add_path(test::path_to(9, 1)).ok());
  engine.kill(peer, 0);
  engine.recovery.flush_path(engine.now, peer, 0);
  EXPECT_TRUE(flow.pace_resends);
  engine.outgoing.activate(flow_id(peer.id, TrafficClass::kGradient));

  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(out.route.path, 1U);
  const std::uint64_t first = flow.window.in_flight() - wire::kFramesOffset;
  ASSERT_FALSE(engine.poll(out));  // the next waits for its turn
  EXPECT_TRUE(flow.resend_waits);
  const auto rtt_ns = static_cast<std::uint64_t>(peer.paths.best_rtt().ns);
  EXPECT_EQ(
      flow.resend_at,
      engine.now + nanoseconds(static_cast<std::int64_t>(first * rtt_ns / flow.window.bytes())));
}

TEST(Recovery, forget__leaves_no_packet_and_owes_nothing) {
  Engine engine;
  Peer& peer = engine.add_peer(2);
  for (int i = 0; i < 20; ++i) engine.send(peer, 2'000);
  engine.send(peer, 100'000);
  ASSERT_GT(engine.drain(), 5U);
  ASSERT_TRUE(engine.transfers.refuse(flow_id(peer.id, TrafficClass::kGradient), 5, kNoSlot,
                                      Errc::kNotHeld));
  ASSERT_TRUE(engine.transfers.tell_end(flow_id(peer.id, TrafficClass::kGradient), 6, 1,
                                        Errc::kPeerCancelled));
  engine.recovery.forget(peer);
  EXPECT_EQ(engine.state.sent_packets.used(), 0U);
  EXPECT_EQ(engine.state.refusals.used(), 0U);
  EXPECT_EQ(peer.refusal_count, 0U);
  EXPECT_EQ(peer.eliciting, 0U);
  EXPECT_EQ(peer.flights[0].eliciting + peer.flights[1].eliciting, 0U);
  EXPECT_EQ(peer.owed_since, Instant::never());
  EXPECT_EQ(engine.recovery.timeout(peer), Instant::never());
  engine.outgoing.drop_peer(peer, Errc::kPeerClosed);
  std::array<Completion, 32> out;
  EXPECT_EQ(engine.state.poll_completions(out), 21U);
  EXPECT_EQ(engine.state.sends.used(), 0U);
}

TEST(Recovery, on_ack__refused_message_is_announced_and_not_ended) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = engine.send(peer, 500);
  ASSERT_EQ(engine.drain(), 1U);
  RefusedNumbers refused;
  refused.entries[0] = {TrafficClass::kGradient, false, Errc::kNotHeld, 0};
  refused.count = 1;
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}, refused));
  EXPECT_EQ(engine.state.sends[slot].state, SendState::kQueued);
  EXPECT_TRUE(engine.state.sends[slot].announce_queued);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(test::kinds_of(out), std::vector{wire::FrameKind::kAnnounce});
}

}  // namespace
}  // namespace zhinu::core

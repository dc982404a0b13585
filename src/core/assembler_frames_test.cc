#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/assembler.h"
#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Engine;
using test::engine_options;
using test::kinds_of;
using wire::FrameKind;

using Kinds = std::vector<FrameKind>;

TEST(Assembler, add_acks__rides_on_data) {
  Engine engine;
  Peer& peer = engine.add_peer();
  engine.owe_ack(peer, 0, 0, microseconds(20));
  Transmit out;
  EXPECT_FALSE(engine.poll(out));  // it waits for data
  engine.send(peer, 100);
  engine.now = engine.now + microseconds(7);
  ASSERT_TRUE(engine.poll(out));
  ASSERT_EQ(kinds_of(out), (Kinds{FrameKind::kAck, FrameKind::kMessage}));
  EXPECT_EQ(out.packet->frames[0].number, 0U);
  EXPECT_EQ(out.packet->frames[0].tag, 7U);  // microseconds it waited
  EXPECT_EQ(peer.ack_mask, 0U);
  EXPECT_EQ(peer.ack_due_at, Instant::never());
  EXPECT_EQ(engine.count(Counter::kAcksSent), 1U);
}

TEST(Assembler, add_acks__alone_when_it_is_due) {
  Engine engine;
  Peer& peer = engine.add_peer();
  engine.owe_ack(peer, 0, 5);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kAck});
  EXPECT_EQ(engine.state.sent_packets.used(), 0U);  // nobody acknowledges an ACK
  EXPECT_EQ(peer.owed_since, Instant::never());
  EXPECT_FALSE(engine.poll(out));
}

TEST(Assembler, add_acks__four_paths_a_packet) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint8_t path = 0; path < 6; ++path) engine.owe_ack(peer, path, path);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds(4, FrameKind::kAck));
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds(2, FrameKind::kAck));
  EXPECT_EQ(out.packet->frames[0].flags, 4U);
  EXPECT_EQ(out.packet->frames[1].flags, 5U);
  EXPECT_FALSE(engine.poll(out));
}

TEST(Assembler, add_acks__refusals_go_in_the_same_packet_and_first) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const FlowId flow = flow_id(peer.id, TrafficClass::kGradient);
  for (std::uint64_t number = 0; number < 32; ++number) {
    ASSERT_TRUE(engine.transfers.refuse(flow, 2 * number, kNoSlot, Errc::kNotHeld));
  }
  engine.owe_ack(peer, 0, 0);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  Kinds expected(32, FrameKind::kRefuse);
  expected.push_back(FrameKind::kAck);
  EXPECT_EQ(kinds_of(out), expected);
  EXPECT_EQ(peer.refusal_count, 32U);
  // They go again with the next ACK of the path, as the peer did not tell that it knows.
  engine.owe_ack(peer, 0, 1);
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), expected);
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));
  EXPECT_EQ(peer.refusal_count, 0U);
  engine.owe_ack(peer, 0, 2);
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kAck});
}

TEST(Assembler, add_acks__without_a_record_what_was_refused_is_not_acknowledged) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(engine.transfers.refuse(flow_id(peer.id, TrafficClass::kGradient), 0, kNoSlot,
                                      Errc::kNotHeld));
  engine.owe_ack(peer, 0, 0);
  engine.owe_ack(peer, 1, 0);
  engine.use_records(0);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  ASSERT_EQ(kinds_of(out), Kinds{FrameKind::kAck});
  EXPECT_EQ(out.packet->frames[0].flags, 1U);
  EXPECT_EQ(peer.ack_mask, 1U);
}

TEST(Assembler, add_aborts__each_peer_hears_each_abort_once) {
  Engine engine;
  for (int i = 0; i < 3; ++i) engine.add_peer();
  for (std::uint16_t id = 10; id < 16; ++id) {
    engine.abort(engine.add_communicator(CommunicatorId{id}));
  }
  std::array<std::uint32_t, 3> heard{};
  Transmit out;
  while (engine.poll(out)) {
    for (const FrameKind kind : kinds_of(out)) {
      EXPECT_EQ(kind, FrameKind::kAbort);
      ++heard[out.route.peer.value];
    }
  }
  EXPECT_EQ(heard, (std::array<std::uint32_t, 3>{6, 6, 6}));
  // A lost one goes again, alone.
  Peer& peer = engine.state.peer({1});
  ASSERT_TRUE(engine.ack(peer, 0, {{1, 1}}));
  engine.now = engine.recovery.timeout(peer);
  engine.recovery.handle_timeout(engine.now, peer);
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(out.route.peer, PeerId{1});
  EXPECT_EQ(kinds_of(out), Kinds(4, FrameKind::kAbort));
}

}  // namespace
}  // namespace zhinu::core

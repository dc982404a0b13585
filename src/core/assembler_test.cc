#include "core/assembler.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Engine;
using test::engine_options;
using test::kinds_of;
using wire::FrameKind;

using Kinds = std::vector<FrameKind>;

TEST(Assembler, poll_transmit__nothing_to_send) {
  Engine engine;
  engine.add_peer();
  Transmit out;
  EXPECT_FALSE(engine.poll(out));
  EXPECT_EQ(engine.count(Counter::kPacketsSent), 0U);
}

TEST(Assembler, poll_transmit__addresses_and_numbers_the_packet) {
  Engine engine;
  Peer& peer = engine.add_peer();
  peer.session.remote_connection = 77;
  engine.send(peer, 100, TrafficClass::kWeights);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kMessage});
  EXPECT_EQ(out.route.peer, peer.id);
  EXPECT_EQ(out.route.to, test::address_of(9));
  EXPECT_EQ(out.route.traffic_class, TrafficClass::kWeights);
  EXPECT_EQ(out.packet->header.traffic_class, TrafficClass::kWeights);
  EXPECT_EQ(out.packet->header.connection, 77U);
  EXPECT_EQ(out.packet->header.number, 0U);
  EXPECT_EQ(engine.count(Counter::kPacketsSent), 1U);
  EXPECT_EQ(engine.count(Counter::kBytesSent), 36U + 12U + 100U);
  EXPECT_EQ(peer.paths.in_flight_bytes(0), 148U);
}

TEST(Assembler, poll_transmit__control_goes_before_data) {
  Engine engine;
  Peer& peer = engine.add_peer();
  engine.send(peer, 100);
  ASSERT_TRUE(
      engine.transfers.tell_end(flow_id(peer.id, TrafficClass::kGradient), 3, 1, Errc::kTruncated));
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kRefuse});
  EXPECT_EQ(out.route.traffic_class, TrafficClass::kControl);
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kMessage});
  EXPECT_FALSE(engine.poll(out));
}

TEST(Assembler, poll_transmit__classes_share_by_weight) {
  constexpr std::uint32_t kPackets = 1'000;
  EndpointOptions options = engine_options();
  options.sent_packets_max = 2'048;
  options.window.initial_bytes = options.window.max_bytes;
  options.class_weights = {0, 8, 8, 2, 2};  // rounds of 20 KiB: many of them
  Engine engine(options);
  Peer& peer = engine.add_peer(1, 1'280);
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 1; i < kTrafficClasses; ++i) {
    slots.push_back(engine.send(peer, 2'000'000, static_cast<TrafficClass>(i)));
  }
  ASSERT_EQ(engine.drain(), 4U);
  for (const std::uint32_t slot : slots) engine.grant_all(slot);
  std::array<double, kTrafficClasses> bytes{};
  Transmit out;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const std::uint64_t before = engine.count(Counter::kBytesSent);
    ASSERT_TRUE(engine.poll(out));
    bytes[index_of(out.route.traffic_class)] +=
        static_cast<double>(engine.count(Counter::kBytesSent) - before);
  }
  const double all = bytes[1] + bytes[2] + bytes[3] + bytes[4];
  EXPECT_EQ(bytes[0], 0.0);
  EXPECT_NEAR(bytes[1] / all, 0.4, 0.4 * 0.05);
  EXPECT_NEAR(bytes[2] / all, 0.4, 0.4 * 0.05);
  EXPECT_NEAR(bytes[3] / all, 0.1, 0.1 * 0.05);
  EXPECT_NEAR(bytes[4] / all, 0.1, 0.1 * 0.05);
}

TEST(Assembler, poll_transmit__flows_of_a_class_take_turns_of_one_train) {
  EndpointOptions options = engine_options();
  options.train_bytes = 4'000;
  Engine engine(options);
  std::vector<std::uint32_t> slots;
  for (int i = 0; i < 3; ++i) slots.push_back(engine.send(engine.add_peer(1, 1'280), 100'000));
  ASSERT_EQ(engine.drain(), 3U);
  for (const std::uint32_t slot : slots) engine.grant_all(slot);
  std::vector<std::uint32_t> order;
  Transmit out;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(engine.poll(out));
    order.push_back(out.route.peer.value);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST(Assembler, poll_transmit__window_stops_a_flow) {
  EndpointOptions options = engine_options();
  options.window.initial_bytes = 16 * 1024;
  Engine engine(options);
  Peer& peer = engine.add_peer(1, 4'096);
  const std::uint32_t slot = engine.send(peer, 100'000);
  ASSERT_EQ(engine.drain(), 1U);
  engine.grant_all(slot);
  engine.drain();
  const Window& window = peer.flow(TrafficClass::kGradient).window;
  EXPECT_EQ(window.room(), 0U);
  EXPECT_LT(window.in_flight(), 16U * 1024 + 4'096);
  EXPECT_EQ(engine.state.flows_in_rings, 0U);
}

// Nothing is under way that would give a record back, and a repeat takes one first.
TEST(Assembler, next_data__records_of_lost_packets_come_back) {
  Engine engine;
  Peer& peer = engine.add_peer(2);
  const std::uint32_t large = engine.send(peer, 30'000);
  engine.drain();
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));
  engine.grant_all(large);
  engine.send(peer, 100);
  engine.send(peer, 20'000);
  ASSERT_GT(engine.drain(), 7U);
  const std::uint32_t under_way = engine.state.sent_packets.used();
  engine.use_records(5);
  Transmit out;
  EXPECT_FALSE(engine.poll(out));
  engine.kill(peer, 0);
  engine.recovery.flush_path(engine.now, peer, 0);
  ASSERT_EQ(peer.eliciting, 0U);
  EXPECT_EQ(engine.state.sent_packets.available(), 5U);
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(engine.state.sent_packets.available(), 5U + under_way - 1U);
  // What went whole is announced now, as the peer may have it; the rest begins anew.
  EXPECT_EQ(kinds_of(out), (Kinds{FrameKind::kAnnounce, FrameKind::kAnnounce}));
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kSegment});
  EXPECT_EQ(out.packet->frames[0].offset, 0U);
}

TEST(Assembler, send_path_probe__answer_needs_no_record) {
  Engine engine;
  Peer& peer = engine.add_peer();
  engine.use_records(0);
  peer.probe_answers[0] = {1'234, 3};
  peer.probe_answer_count = 1;
  engine.state.want_control(peer);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  ASSERT_EQ(kinds_of(out), Kinds{FrameKind::kPathResponse});
  EXPECT_EQ(out.packet->frames[0].offset, 1'234U);
  EXPECT_EQ(out.packet->frames[0].flags, 3U);
  EXPECT_FALSE(engine.poll(out));
}

TEST(Assembler, send_path_probe__alone_on_its_path_it_is_remembered) {
  Engine engine;
  Peer& peer = engine.add_peer(2);
  peer.flights[1].probe_wanted = true;
  engine.state.want_control(peer);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kPathProbe});
  EXPECT_EQ(out.route.path, 1U);
  EXPECT_EQ(peer.flights[1].eliciting, 1U);
  EXPECT_EQ(engine.state.sent_packets.used(), 1U);
}

TEST(Assembler, send_path_probe__of_a_doubted_path_fills_the_packet) {
  Engine engine;
  Peer& peer = engine.add_peer(1, 4'096);
  engine.send(peer, 100);
  ASSERT_EQ(engine.drain(), 1U);
  engine.now = peer.paths.timeout();
  peer.paths.handle_timeout(engine.now);
  ASSERT_EQ(peer.paths.state(0), PathState::kSuspect);
  engine.state.want_control(peer);
  const std::uint64_t before = engine.count(Counter::kBytesSent);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), (Kinds{FrameKind::kPathProbe, FrameKind::kPadding}));
  EXPECT_EQ(engine.count(Counter::kBytesSent) - before, 4'096U);
  EXPECT_NE(out.packet->frames[0].offset, 0U);
}

TEST(Assembler, poll_transmit__no_packet_exceeds_its_limit) {
  EndpointOptions options = engine_options();
  options.window.initial_bytes = options.window.max_bytes;
  Engine engine(options);
  Prng prng(7);
  Peer& peer = engine.add_peer(2, 1'280);
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t slot = engine.send(peer, prng.next() % 3'000);
    engine.drain();
    if (engine.state.sends[slot].state == SendState::kAnnounced) engine.grant_all(slot);
    if (i % 3 == 0) engine.owe_ack(peer, 0, static_cast<std::uint64_t>(2 * i));
    Transmit out;
    while (engine.poll(out)) {
      std::vector<std::byte> bytes(wire::kPacketBytesMax);
      const std::uint64_t sent = engine.count(Counter::kBytesSent);
      const auto encoded = wire::encode(*out.packet, bytes, SIZE_MAX);
      ASSERT_TRUE(encoded.ok());
      ASSERT_LE(encoded.value().head_bytes, 1'280U);
      ASSERT_GE(sent, encoded.value().head_bytes);
    }
  }
  EXPECT_EQ(engine.state.flows_in_rings, 0U);
}

TEST(Assembler, poll_transmit__small_messages_share_a_packet) {
  Engine engine;
  Peer& peer = engine.add_peer(1, 1'280);
  for (int i = 0; i < 20; ++i) engine.send(peer, 100);  // 112 bytes each: 11 fit
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds(11, FrameKind::kMessage));
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(kinds_of(out), Kinds(9, FrameKind::kMessage));
  EXPECT_EQ(engine.state.sent_packets.used(), 2U);
}

TEST(Assembler, send_control__close_is_repeated_three_times) {
  Engine engine;
  Peer& peer = engine.add_peer();
  engine.connections.close_peer(engine.now, peer, Errc::kPeerClosed);
  Transmit out;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.poll(out)) << i;
    EXPECT_EQ(kinds_of(out), Kinds{FrameKind::kClose});
  }
  EXPECT_FALSE(engine.poll(out));
  EXPECT_EQ(engine.state.sent_packets.used(), 0U);
}

}  // namespace
}  // namespace zhinu::core

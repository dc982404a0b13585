#include "sim/check/wire_watch.h"

#include <gtest/gtest.h>

#include <memory>

namespace zhinu::sim::check {
namespace {

class WireWatchTest : public ::testing::Test {
 protected:
  WireWatchTest() : packet(std::make_unique<wire::Packet>()) {
    transmit.packet = packet.get();
    packet->header.connection = 77;
  }

  std::optional<Streams::Wrong> send(std::uint64_t number, std::uint8_t path = 0) {
    packet->header.number = number;
    packet->header.path = path;
    transmit.route.path = path;
    return watch.on_transmit(0, 1, transmit, [this](std::uint8_t) { return state; });
  }

  core::PathState state = core::PathState::kGood;  // that the endpoint would tell
  std::unique_ptr<wire::Packet> packet;
  core::Transmit transmit;
  Memory memory{1'000, 10};
  WireWatch watch{2, memory};
};

TEST_F(WireWatchTest, on_transmit__numbers_of_a_path_only_grow) {
  EXPECT_FALSE(send(0).has_value());
  EXPECT_FALSE(send(1).has_value());
  EXPECT_FALSE(send(5).has_value());
  EXPECT_FALSE(send(0, 1).has_value());
  const auto wrong = send(5);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->invariant, Invariant::kNonceUnique);
}

TEST_F(WireWatchTest, on_transmit__another_connection_begins_anew_and_the_old_one_stays_known) {
  EXPECT_FALSE(send(9).has_value());
  packet->header.connection = 78;
  EXPECT_FALSE(send(0).has_value());
  packet->header.connection = 77;
  EXPECT_TRUE(send(9).has_value());
}

TEST_F(WireWatchTest, on_transmit__payload_leaves_only_while_the_buffer_is_the_transports) {
  const BufferId buffer = memory.allocate(100);
  wire::Frame& frame = packet->add(wire::FrameKind::kSegment);
  frame.payload = memory.span(buffer).data() + 10;
  frame.length = 50;
  EXPECT_EQ(send(0)->invariant, Invariant::kNoResendFromChanged);
  watch.readable(buffer);
  EXPECT_FALSE(send(1).has_value());
  watch.released(buffer);
  EXPECT_EQ(send(2)->invariant, Invariant::kNoResendFromChanged);
  frame.length = 0;
  EXPECT_FALSE(send(3).has_value());
}

TEST_F(WireWatchTest, on_transmit__a_dead_path_carries_probes_only) {
  packet->add(wire::FrameKind::kPathProbe);
  packet->add(wire::FrameKind::kPadding);
  watch.on_path(0, 1, 0, core::PathState::kDead);
  state = core::PathState::kDead;
  EXPECT_FALSE(send(0).has_value());
  packet->add(wire::FrameKind::kAck);
  EXPECT_EQ(send(1)->invariant, Invariant::kDeadPathSilent);
  EXPECT_FALSE(send(0, 1).has_value());
  watch.on_peer_up(0, 1);
  EXPECT_FALSE(send(2).has_value());
}

TEST_F(WireWatchTest, on_transmit__the_endpoint_has_the_last_word_on_a_path) {
  packet->add(wire::FrameKind::kAck);
  watch.on_path(0, 1, 0, core::PathState::kHeld);
  EXPECT_FALSE(send(0).has_value());
}

TEST_F(WireWatchTest, on_transmit__handshake_packets_are_not_looked_at) {
  transmit.packet = nullptr;
  EXPECT_FALSE(send(0).has_value());
}

}  // namespace
}  // namespace zhinu::sim::check

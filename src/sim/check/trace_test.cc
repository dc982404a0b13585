#include "sim/check/trace.h"

#include <gtest/gtest.h>

#include <memory>

namespace zhinu::sim::check {
namespace {

TEST(Trace, trace_packet__frames_and_ranges) {
  const auto packet = std::make_unique<wire::Packet>();
  packet->header.traffic_class = TrafficClass::kGradient;
  packet->header.path = 2;
  packet->header.number = 17;
  wire::Frame& message = packet->add(wire::FrameKind::kMessage);
  message.number = 3;
  message.length = 128;
  wire::Frame& ack = packet->add(wire::FrameKind::kAck);
  ack.flags = 1;
  ack.peer_token = 2;
  packet->ack_ranges[0] = {9, 12};
  packet->ack_ranges[1] = {4, 4};
  core::Transmit transmit;
  transmit.packet = packet.get();
  EXPECT_EQ(trace_packet(microseconds(1'500), 0, 1, transmit),
            "0.001500000 n0 > n1 gradient path 2 #17: message 3 length 128, ack path 1: 9..12 4");
}

TEST(Trace, trace_packet__handshake) {
  core::Transmit transmit;
  transmit.handshake.kind = wire::HandshakeKind::kWelcome;
  EXPECT_EQ(trace_packet({}, 3, 4, transmit), "0.000000000 n3 > n4 WELCOME");
}

TEST(Trace, trace_completion__names_item_and_result) {
  core::Completion completion;
  completion.status = Errc::kCancelled;
  EXPECT_EQ(trace_completion(seconds(2), 5, "send of message 9", completion),
            "2.000000000 n5 send of message 9 ended: cancelled by the caller, 0 bytes");
}

TEST(Trace, trace_event__each_kind) {
  core::Event event;
  event.kind = core::EventKind::kPathChanged;
  event.path = 1;
  event.new_state = core::PathState::kSuspect;
  EXPECT_EQ(trace_event({}, 0, 1, event), "0.000000000 n0 path 1 to n1: good to suspect");
  event.kind = core::EventKind::kPeerDown;
  event.code = Errc::kPeerClosed;
  EXPECT_EQ(trace_event({}, 0, 1, event),
            "0.000000000 n0 peer down n1: the peer closed the connection");
}

}  // namespace
}  // namespace zhinu::sim::check

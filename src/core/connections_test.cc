#include "core/connections.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Datagram;
using test::Engine;
using test::engine_options;
using test::Link;

std::size_t count_of(const std::vector<Event>& events, EventKind kind) {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [kind](const Event& event) { return event.kind == kind; }));
}

wire::HandshakePacket handshake_of(const Identity& identity, const Datagram& datagram) {
  wire::HandshakePacket packet;
  EXPECT_TRUE(check_and_decode(identity, datagram.bytes, packet).ok());
  return packet;
}

TEST(Connections, add_peer__refuses_what_it_cannot_take) {
  EndpointOptions options = engine_options();
  options.peers_max = 2;
  options.paths_max = 2;
  Engine engine(options);  // rank 1
  const std::array<PathConfig, 3> paths{};
  const auto add = [&](std::uint32_t rank, std::size_t count) {
    return engine.connections.add_peer(engine.now, {rank, std::span(paths).first(count)});
  };
  EXPECT_EQ(add(2, 0).error(), Errc::kInvalidArgument);
  EXPECT_EQ(add(1, 1).error(), Errc::kInvalidArgument);
  EXPECT_EQ(add(2, 3).error(), Errc::kFull);
  ASSERT_TRUE(add(2, 2).ok());
  EXPECT_EQ(add(2, 1).error(), Errc::kExists);
  ASSERT_TRUE(add(3, 1).ok());
  EXPECT_EQ(add(4, 1).error(), Errc::kFull);
  EXPECT_EQ(engine.connections.find_peer(3).value(), PeerId{1});
  EXPECT_EQ(engine.connections.find_peer(4).error(), Errc::kUnknownPeer);
}

TEST(Connections, handle_handshake__hellos_cross_and_make_one_session) {
  Link link;
  link.connect();
  EXPECT_EQ(link.count(0, Counter::kDropUnknownConnection), 0U);
  EXPECT_EQ(link.count(1, Counter::kDropUnknownConnection), 0U);
  std::vector<std::byte> data(300);
  std::vector<std::byte> buffer(300);
  ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
  ASSERT_TRUE(link[0].send(link.now, link.send_args(data)).ok());
  link.run_for(milliseconds(10));
  EXPECT_EQ(link.completions(0).size(), 1U);
  EXPECT_EQ(link.completions(1).size(), 1U);
}

TEST(Connections, handle_handshake__each_side_is_told_once) {
  Link link;
  link.add_peer(0);
  link.add_peer(1);
  link.run_for(seconds(3));
  EXPECT_EQ(count_of(link.events(0), EventKind::kPeerUp), 1U);
  EXPECT_EQ(count_of(link.events(1), EventKind::kPeerUp), 1U);
}

TEST(Connections, handle_handshake__repeated_hello_gets_the_same_welcome) {
  Link link;
  link.add_peer(1);
  link.add_peer(0);
  Datagram hello;
  link.fate = [&](const Datagram& datagram) {
    if (datagram.from == 0 && datagram.is_handshake) hello = datagram;
    return true;
  };
  link.run_for(milliseconds(1));
  ASSERT_TRUE(link[0].peer_is_up(Link::kPeer));
  link.fate = {};
  ASSERT_TRUE(link.inject(1, hello.bytes).ok());
  const auto first = link.collect(1);
  ASSERT_TRUE(link.inject(1, hello.bytes).ok());
  const auto second = link.collect(1);
  ASSERT_FALSE(first.empty());
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(handshake_of(link.identity(0), first[0]).kind, wire::HandshakeKind::kWelcome);
  EXPECT_EQ(first[0].bytes, second[0].bytes);
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
}

TEST(Connections, handle_handshake__lost_welcome_is_repeated) {
  Link link;
  link.add_peer(0);
  link.add_peer(1);
  std::uint32_t dropped = 0;
  link.fate = [&](const Datagram& datagram) {
    if (!datagram.is_handshake) return true;
    const auto packet = handshake_of(link.identity(0), datagram);
    return packet.kind != wire::HandshakeKind::kWelcome || ++dropped > 3;
  };
  link.run_for(seconds(3));
  EXPECT_GT(dropped, 3U);
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
}

TEST(Connections, install__restarted_peer_ends_what_was_posted) {
  Link link;
  link.connect();
  std::vector<std::byte> buffer(300);
  ASSERT_TRUE(link[0].receive(link.now, link.receive_args(buffer)).ok());
  link.identity(1).incarnation = 999;
  link.start(1);
  link.add_peer(1);
  link.run_for(seconds(3));
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
  const auto done = link.completions(0);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kPeerRestarted);
  const auto events = link.events(0);
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(count_of(events, EventKind::kPeerDown), 1U);
  EXPECT_EQ(count_of(events, EventKind::kPeerUp), 1U);
  for (const Event& event : events) {
    if (event.kind == EventKind::kPeerDown) {
      EXPECT_EQ(event.code, Errc::kPeerRestarted);
    }
  }
}

// Its first packets were lost, so that the peer goes on with its own HELLO.
TEST(Connections, install__a_session_that_the_peer_never_had_leaves_no_trace) {
  Link link;
  link.add_peer(0);
  link.add_peer(1);
  bool lose = true;
  bool probes_only = true;
  link.fate = [&](const Datagram& datagram) {
    if (datagram.is_handshake || datagram.from == 1) return true;
    probes_only = probes_only && datagram.header.traffic_class == TrafficClass::kControl;
    return !lose;
  };
  std::vector<std::byte> data(300);
  std::vector<std::byte> buffer(300);
  ASSERT_TRUE(link[0].send(link.now, link.send_args(data)).ok());
  ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
  link.run_for(seconds(1));
  EXPECT_FALSE(link[0].peer_is_up(Link::kPeer));
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
  EXPECT_TRUE(probes_only);
  // Patience with the session is over, and the peer's HELLO made another one.
  link.run_for(seconds(2));
  lose = false;
  link.run_for(seconds(2));
  for (std::uint32_t side = 0; side < 2; ++side) {
    const auto events = link.events(side);
    EXPECT_EQ(count_of(events, EventKind::kPeerUp), 1U);
    EXPECT_EQ(count_of(events, EventKind::kPeerDown), 0U);
    const auto done = link.completions(side);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].status, Errc::kOk);
  }
}

// The peer has another address than side 0 sends to.
TEST(Connections, handle_hello__a_lower_rank_that_nobody_answers_does) {
  Link link;
  link.add_peer(0);
  link.add_peer(1);
  link.fate = [&](const Datagram& datagram) {
    if (datagram.from == 1 || !datagram.is_handshake) return true;
    return handshake_of(link.identity(0), datagram).kind != wire::HandshakeKind::kHello;
  };
  link.run_for(milliseconds(1'900));
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
  link.run_for(milliseconds(1'200));
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
}

TEST(Connections, handle_hello__replayed_one_of_an_old_session_moves_nothing) {
  Link link;
  Datagram hello;
  link.fate = [&](const Datagram& datagram) {
    if (datagram.from == 1 && datagram.is_handshake && hello.bytes.empty()) hello = datagram;
    return true;
  };
  link.connect();
  link.fate = {};
  static_cast<void>(link.inject(0, hello.bytes));
  link.run_for(seconds(1));
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link.events(0).empty());
  EXPECT_TRUE(link.events(1).empty());
}

TEST(Connections, handle_hello__wrong_world_is_refused) {
  Link link;
  link.identity(1).world = test::kWorld + 1;
  link.start(1);
  link.add_peer(0);
  link.add_peer(1);
  link.run_for(milliseconds(10));
  EXPECT_FALSE(link[0].peer_is_up(Link::kPeer));
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
  EXPECT_GE(link.count(0, Counter::kDropWrongWorld), 1U);
  EXPECT_GE(link.count(1, Counter::kDropWrongWorld), 1U);
}

TEST(Connections, handle_hello__no_common_version_is_refused) {
  Link link;
  link.options(1).version_min = wire::kVersionMax + 1;
  link.options(1).version_max = wire::kVersionMax + 1;
  link.start(1);
  link.add_peer(0);
  link.add_peer(1);
  link.run_for(milliseconds(10));
  EXPECT_FALSE(link[0].peer_is_up(Link::kPeer));
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
  EXPECT_GE(link.count(0, Counter::kDropBadVersion), 1U);
  EXPECT_GE(link.count(1, Counter::kDropBadVersion), 1U);
}

TEST(Connections, handle_hello__unknown_rank_is_refused_until_it_was_added) {
  Link link;
  link.add_peer(0);
  link.run_for(milliseconds(10));
  EXPECT_FALSE(link[0].peer_is_up(Link::kPeer));
  EXPECT_FALSE(link[1].find_peer(1).ok());
  EXPECT_GE(link.count(1, Counter::kDropUnexpectedState), 1U);
  link.add_peer(1);
  link.run_for(seconds(3));
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
}

TEST(Connections, handle_handshake__other_job_key_is_dropped_unread) {
  Link link(engine_options(), SealMode::kGmac);
  link.identity(1).job_key = test::job_key_of(2);
  link.start(1);
  link.add_peer(0);
  link.run_for(milliseconds(1));
  EXPECT_EQ(link.count(1, Counter::kDropBadTag), 1U);
  EXPECT_EQ(link.count(1, Counter::kPacketsSent), 0U);
  EXPECT_TRUE(link.collect(1).empty());
}

TEST(Connections, close_peer__both_sides_end_and_may_meet_again) {
  Link link;
  link.connect();
  std::vector<std::byte> buffer(300);
  ASSERT_TRUE(link[0].receive(link.now, link.receive_args(buffer)).ok());
  ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
  ASSERT_TRUE(link[0].close_peer(link.now, Link::kPeer).ok());
  ASSERT_TRUE(link[1].close_peer(link.now, Link::kPeer).ok());
  link.run_for(seconds(3));
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_FALSE(link[side].peer_is_up(Link::kPeer));
    const auto done = link.completions(side);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].status, Errc::kPeerClosed);
    EXPECT_EQ(count_of(link.events(side), EventKind::kPeerDown), 1U);
    EXPECT_EQ(link[side].send(link.now, link.send_args(buffer)).error(), Errc::kPeerClosed);
  }
  EXPECT_EQ(link.timeout(), Instant::never());
}

TEST(Connections, close_peer__the_other_side_hears_of_it) {
  Link link;
  link.connect();
  ASSERT_TRUE(link[0].close_peer(link.now, Link::kPeer).ok());
  link.run_for(milliseconds(10));
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
  const auto events = link.events(1);
  ASSERT_EQ(count_of(events, EventKind::kPeerDown), 1U);
  EXPECT_EQ(events[0].code, Errc::kPeerClosed);
}

TEST(Connections, push_answer__strangers_are_answered_up_to_a_limit) {
  constexpr std::uint32_t kAnswersMax = 32;
  Link link;
  HandshakeContext context = test::context_of(9, SealMode::kCrc32c);
  test::SeededEntropy entropy(3);
  for (std::uint32_t i = 0; i < kAnswersMax + 8; ++i) {
    Initiator initiator(link.now, context, 2, 1'000 + i, entropy);
    std::vector<std::byte> bytes(wire::kHandshakeBytes);
    ASSERT_TRUE(encode_and_tag(context.identity, *initiator.poll_transmit(link.now), bytes).ok());
    static_cast<void>(link.inject(1, bytes));
  }
  EXPECT_EQ(link.collect(1).size(), kAnswersMax);
  EXPECT_EQ(link.count(1, Counter::kDropNoRoom), 8U);
}

TEST(Connections, drop_peer__hello_starts_again_after_the_peer_timed_out) {
  Link link;
  link.connect();
  std::vector<std::byte> data(300);
  link.fate = [](const Datagram&) { return false; };
  ASSERT_TRUE(link[0].send(link.now, link.send_args(data)).ok());
  link.run_for(seconds(125));
  EXPECT_FALSE(link[0].peer_is_up(Link::kPeer));
  const auto done = link.completions(0);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kPeerUnreachable);
  link.fate = {};
  link.run_for(seconds(3));
  EXPECT_TRUE(link[0].peer_is_up(Link::kPeer));
  EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
}

}  // namespace
}  // namespace zhinu::core

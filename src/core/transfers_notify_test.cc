// Notifications of one-sided writes, and their order.
#include <gtest/gtest.h>

#include <vector>

#include "core/engine_fixture_test.h"
#include "core/transfers.h"

namespace zhinu::core {
namespace {

using test::Engine;
using test::engine_options;

FlowId flow_of(const Peer& peer) { return flow_id(peer.id, TrafficClass::kGradient); }

// A whole small write with an ordered notification, `behind` numbers after the one before it.
bool notify(Engine& engine, Peer& peer, std::uint64_t number, std::uint32_t behind,
            std::uint16_t communicator = 0) {
  ReceiveRecord write;
  write.open_transfer();
  write.communicator = communicator;
  write.number = number;
  write.behind = behind;
  write.notify = true;
  write.ordered = true;
  write.immediate = static_cast<std::uint32_t>(number);
  engine.state.flow(flow_of(peer)).incoming.mark(number);
  const bool taken = engine.transfers.notify_put(flow_of(peer), write);
  engine.transfers.on_number_seen();
  return taken;
}
std::vector<std::uint32_t> notified(Engine& engine) {
  std::vector<std::uint32_t> immediates;
  Event event;
  while (engine.state.poll_event(event)) {
    EXPECT_EQ(event.kind, EventKind::kNotification);
    immediates.push_back(event.immediate);
    engine.transfers.flush_notifications();
  }
  return immediates;
}

TEST(Transfers, notify_put__in_the_order_of_sending) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(notify(engine, peer, 2, 1));
  ASSERT_TRUE(notify(engine, peer, 1, 1));
  EXPECT_EQ(notified(engine), std::vector<std::uint32_t>{});
  ASSERT_TRUE(notify(engine, peer, 0, 0));
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(engine.state.receives.used(), 0U);
}

TEST(Transfers, notify_put__other_communicators_do_not_wait) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(notify(engine, peer, 2, 2));
  ASSERT_TRUE(notify(engine, peer, 1, 0, 5));
  EXPECT_EQ(notified(engine), std::vector<std::uint32_t>{1});
  ASSERT_TRUE(notify(engine, peer, 3, 2, 5));
  EXPECT_EQ(notified(engine), std::vector<std::uint32_t>{3});
  ASSERT_TRUE(notify(engine, peer, 0, 0));
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{0, 2}));
}

// Its sender gave up the channel meanwhile, as all that it had sent was taken.
TEST(Transfers, notify_put__without_a_distance_behind_those_that_are_here) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(notify(engine, peer, 1, 1));
  ASSERT_TRUE(notify(engine, peer, 2, 0));
  EXPECT_EQ(notified(engine), std::vector<std::uint32_t>{});
  ASSERT_TRUE(notify(engine, peer, 0, 0));
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{0, 1, 2}));
}

// The one before was given up, and nobody knows what it was itself behind.
TEST(Transfers, notify_put__behind_a_void_number_all_below_must_be_seen) {
  Engine engine;
  Peer& peer = engine.add_peer();
  Flow& flow = engine.state.flow(flow_of(peer));
  flow.give_up(1);
  flow.incoming.mark(1);
  ASSERT_TRUE(notify(engine, peer, 2, 1));
  EXPECT_EQ(notified(engine), std::vector<std::uint32_t>{});
  ASSERT_TRUE(notify(engine, peer, 0, 0));
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{0, 2}));
}

// Number 0 of another communicator is missing for long: no concern of those behind number 1.
TEST(Transfers, notify_put__behind_one_that_was_notified_long_ago) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(notify(engine, peer, 1, 0));
  ASSERT_TRUE(notify(engine, peer, 2, 0, 5));
  ASSERT_TRUE(notify(engine, peer, 3, 2));
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Transfers, notify_put__full_event_ring_loses_none) {
  EndpointOptions options = engine_options();
  options.events_max = 2;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  for (std::uint64_t number = 0; number < 7; ++number) {
    ASSERT_TRUE(notify(engine, peer, number, number > 0 ? 1 : 0));
  }
  EXPECT_TRUE(engine.state.events_full());
  EXPECT_EQ(notified(engine), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(engine.count(Counter::kDropEvents), 0U);
}

TEST(Transfers, notify_put__no_record_is_free) {
  EndpointOptions options = engine_options();
  options.receives_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  for (std::uint64_t number = 1; number <= 1 + State::kPeersShare; ++number) {
    ASSERT_TRUE(notify(engine, peer, number, 1));  // waits for number 0
  }
  EXPECT_FALSE(notify(engine, peer, 2 + State::kPeersShare, 1));
}

}  // namespace
}  // namespace zhinu::core

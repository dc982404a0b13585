#include "core/outgoing.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/modules_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Filled;
using test::kCommunicator;
using test::kOther;
using test::Modules;
using test::refusal_of;
using test::small_options;
using wire::FrameKind;

constexpr PeerId kPeer = Modules::kPeer;

// An announced message whose announcement was taken: granted nothing yet.
std::uint32_t announced(Modules& modules, std::size_t size) {
  const std::uint32_t slot = modules.send(size);
  modules.ack(modules.fill());
  EXPECT_EQ(modules.state.sends[slot].state, SendState::kAnnounced);
  return slot;
}

TEST(Outgoing, post_send__enters_channel_and_rings) {
  Modules modules;
  const std::uint32_t slot = modules.send(100);
  const SendRecord& record = modules.state.sends[slot];
  EXPECT_EQ(record.state, SendState::kQueued);
  EXPECT_EQ(record.references, 1U);
  EXPECT_FALSE(record.has_number);
  EXPECT_EQ(modules.channel().records, 1U);
  EXPECT_TRUE(modules.channel().in_ring);
  EXPECT_TRUE(modules.flow().in_ring);
  EXPECT_EQ(modules.flow().turn_bytes, modules.state.options.train_bytes);
  EXPECT_EQ(modules.state.flows_in_rings, 1U);
  EXPECT_EQ(modules.state.rings[index_of(TrafficClass::kGradient)].head, modules.flow_of());
}

TEST(Outgoing, post_send__a_full_pool_takes_nothing) {
  Modules modules;
  for (std::uint32_t i = 0; i < modules.state.options.sends_max; ++i) {
    ASSERT_NE(modules.send(1), kNoSlot);
  }
  EXPECT_EQ(modules.send(1), kNoSlot);
  EXPECT_EQ(modules.channel().records, modules.state.options.sends_max);
}

TEST(Outgoing, post_all__without_a_channel_the_record_goes_back) {
  Modules modules;
  const auto use_channel = [&modules](std::uint16_t communicator, bool for_peer) {
    const std::uint32_t slot = modules.state.channel_of(modules.flow_of(), communicator, for_peer);
    modules.state.channels[slot].records = 1;
  };
  std::uint16_t used = 10;
  while (used < 10U + modules.state.options.channels_max) use_channel(used++, false);
  EXPECT_EQ(modules.send(1), kNoSlot);
  EXPECT_EQ(modules.write(1), kNoSlot);
  EXPECT_EQ(modules.read(1), kNoSlot);
  // Answers to the peer have a share of their own.
  while (used < 10U + modules.state.channels.capacity()) use_channel(used++, true);
  EXPECT_FALSE(modules.outgoing.post_read_answer({modules.flow_of(), 1, {}, 0, 0, 0}));
  modules.expect_idle();
}

TEST(Outgoing, post_all__full_pool_of_sends) {
  Modules modules;
  while (modules.state.acquire_send() != kNoSlot) {
  }
  EXPECT_EQ(modules.write(1), kNoSlot);
  EXPECT_EQ(modules.read(1), kNoSlot);
  EXPECT_EQ(modules.state.receives.used(), 0U);
  // Answers to the peer have a share of their own.
  for (std::uint32_t i = 0; i < State::kPeersShare; ++i) {
    EXPECT_TRUE(modules.outgoing.post_read_answer({modules.flow_of(), 1, {}, 0, 0, 0}));
  }
  EXPECT_FALSE(modules.outgoing.post_read_answer({modules.flow_of(), 1, {}, 0, 0, 0}));
}

TEST(Outgoing, post_write__only_a_notification_can_be_ordered) {
  Modules modules;
  EXPECT_FALSE(modules.state.sends[modules.write(8, false, true)].ordered);
  EXPECT_TRUE(modules.state.sends[modules.write(8, true, true)].ordered);
  EXPECT_FALSE(modules.state.sends[modules.write(8, true, false)].ordered);
}

TEST(Outgoing, activate__a_peer_that_is_not_up_waits) {
  Modules modules;
  modules.peer().state = PeerState::kConnecting;
  modules.send(10);
  EXPECT_FALSE(modules.flow().in_ring);
  modules.peer().state = PeerState::kUp;
  modules.outgoing.activate(modules.flow_of());
  EXPECT_TRUE(modules.flow().in_ring);
}

TEST(Outgoing, activate__flows_of_a_class_line_up) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  modules.send(10);
  SendArgs args;
  args.peer = second;
  args.communicator = kCommunicator;
  args.data = modules.content(10);
  modules.post(args);
  const State::FlowRing& ring = modules.state.rings[index_of(TrafficClass::kGradient)];
  EXPECT_EQ(ring.head, modules.flow_of());
  EXPECT_EQ(modules.flow().ring_next, modules.flow_of(second));
  EXPECT_EQ(ring.tail, modules.flow_of(second));
  EXPECT_EQ(modules.state.flows_in_rings, 2U);
}

TEST(Outgoing, sendable__work_and_room_in_the_window) {
  Modules modules;
  EXPECT_FALSE(modules.outgoing.sendable(modules.flow()));
  modules.send(10);
  EXPECT_TRUE(modules.outgoing.sendable(modules.flow()));
  modules.flow().window.on_sent(modules.flow().window.bytes());
  EXPECT_FALSE(modules.outgoing.sendable(modules.flow()));
}

TEST(Outgoing, end__queued_without_a_number_tells_nobody) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  modules.outgoing.end(slot, Errc::kCancelled);
  modules.outgoing.end(slot, Errc::kDeadlineExceeded);  // no-op
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kCancelled);
  EXPECT_EQ(done[0].user, 100U);
  EXPECT_TRUE(modules.peer().cancels.empty());
  EXPECT_EQ(modules.channel().records, 0U);
  EXPECT_TRUE(modules.fill().frames.empty());  // takes it out of the queue
  modules.expect_idle();
}

TEST(Outgoing, end__eager_that_arrives_is_known_to_the_peer) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  const Filled packet = modules.fill();
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_TRUE(modules.peer().cancels.empty());
  modules.ack(packet);
  EXPECT_EQ(modules.flow().outgoing.floor(), 1U);
  EXPECT_TRUE(modules.completions().empty());
  modules.expect_idle();
}

TEST(Outgoing, end__eager_that_is_lost_leaves_a_void_number) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  const Filled packet = modules.fill();
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.lose(packet);
  EXPECT_TRUE(modules.fill().frames.empty());
  ASSERT_EQ(modules.peer().cancels.head, slot);
  EXPECT_TRUE(modules.peer().in_control_ring);
  EXPECT_EQ(modules.peer().cancels.pop_front(modules.state.sends), slot);
  modules.outgoing.on_cancel_lost(slot);
  EXPECT_EQ(modules.peer().cancels.pop_front(modules.state.sends), slot);
  modules.outgoing.on_cancel_acked(slot);
  EXPECT_EQ(modules.flow().outgoing.floor(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, end__eager_that_was_not_held_is_cancelled) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  const Filled packet = modules.fill();
  modules.outgoing.end(slot, Errc::kCancelled);
  modules.ack(packet, refusal_of(0, Errc::kNotHeld));
  EXPECT_EQ(modules.peer().cancels.head, slot);
  EXPECT_EQ(modules.flow().outgoing.floor(), 0U);
}

TEST(Outgoing, end__announced_tells_the_peer_and_frees_its_place) {
  Modules modules;
  const std::uint32_t slot = announced(modules, 10'000);
  EXPECT_EQ(modules.channel().announced, 1U);
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.channel().announced, 0U);
  EXPECT_EQ(modules.channel().credit_probe_at, Instant::never());
  EXPECT_EQ(modules.peer().cancels.pop_front(modules.state.sends), slot);
  modules.outgoing.on_cancel_acked(slot);  // its number was marked by the announcement
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, end__announced_under_way_ends_with_its_packet) {
  Modules modules;
  const std::uint32_t slot = modules.send(10'000);
  const Filled packet = modules.fill();
  modules.outgoing.end(slot, Errc::kCancelled);
  modules.peer().cancels.pop_front(modules.state.sends);
  modules.outgoing.on_cancel_acked(slot);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.state.sends.used(), 1U);
  modules.lose(packet);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.expect_idle();
}

TEST(Outgoing, end__granted_leaves_the_bulk_list) {
  Modules modules;
  const std::uint32_t slot = announced(modules, 10'000);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 10'000);
  EXPECT_EQ(modules.flow().bulk.head, slot);
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_TRUE(modules.flow().bulk.empty());
  EXPECT_FALSE(modules.outgoing.sendable(modules.flow()));
}

TEST(Outgoing, end__requeued_is_told_and_leaves_the_queue) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_EQ(modules.state.sends[slot].state, SendState::kQueued);
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.peer().cancels.pop_front(modules.state.sends), slot);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.outgoing.on_cancel_acked(slot);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, on_grant__what_fits_no_announced_message_changes_nothing) {
  Modules modules;
  const std::uint32_t slot = announced(modules, 10'000);
  Outgoing& outgoing = modules.outgoing;
  outgoing.on_grant(modules.flow_of(), modules.state.sends.capacity(), 0, 128);
  outgoing.on_grant(modules.flow_of(), slot, 0, 100);           // neither whole units nor the end
  outgoing.on_grant(modules.flow_of(), slot, 0, 10'000 + 112);  // beyond the end
  EXPECT_EQ(modules.state.counters[Counter::kDropBadFrame], 3U);
  outgoing.on_grant(modules.flow_of(), slot, 1, 128);  // of another message: late
  outgoing.on_grant(modules.flow_of(), slot + 1, 0, 128);
  outgoing.on_grant(flow_id(kPeer, TrafficClass::kWeights), slot, 0, 128);
  EXPECT_EQ(modules.state.counters[Counter::kDropBadFrame], 3U);
  EXPECT_EQ(modules.state.sends[slot].granted, 0U);
  EXPECT_EQ(modules.channel().announced, 1U);
  EXPECT_TRUE(modules.flow().bulk.empty());
}

TEST(Outgoing, on_grant__never_goes_back) {
  Modules modules;
  const std::uint32_t slot = announced(modules, 10'000);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 2'560);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 1'280);
  EXPECT_EQ(modules.state.sends[slot].granted, 2'560U);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 10'000);
  EXPECT_EQ(modules.state.sends[slot].granted, 10'000U);
  EXPECT_EQ(modules.channel().announced, 0U);
  EXPECT_TRUE(modules.flow().in_ring);
}

TEST(Outgoing, on_grant__opens_a_closed_channel) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_TRUE(modules.channel().closed);
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].kind, FrameKind::kAnnounce);
  EXPECT_EQ(again.frames[0].number, 0U);
  modules.ack(again);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 10);
  EXPECT_FALSE(modules.channel().closed);
  modules.send(10);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.frames.size(), 1U);  // an older number cannot stand behind a newer one
  EXPECT_EQ(packet.frames[0].kind, FrameKind::kMessage);
  const Filled bulk = modules.fill();
  ASSERT_EQ(bulk.frames.size(), 1U);
  EXPECT_EQ(bulk.frames[0].kind, FrameKind::kSegment);
}

TEST(Outgoing, on_refused__ends_an_announced_message_with_the_code) {
  Modules modules;
  const std::uint32_t slot = announced(modules, 10'000);
  modules.outgoing.on_refused(modules.flow_of(), modules.state.sends.capacity(), 0,
                              Errc::kTruncated);
  EXPECT_EQ(modules.state.counters[Counter::kDropBadFrame], 1U);
  modules.outgoing.on_refused(modules.flow_of(), slot, 1, Errc::kTruncated);
  modules.outgoing.on_refused(flow_id(kPeer, TrafficClass::kWeights), slot, 0, Errc::kTruncated);
  EXPECT_TRUE(modules.completions().empty());
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTruncated);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kTruncated);
  EXPECT_EQ(done[0].bytes, 0U);
  EXPECT_EQ(modules.state.counters[Counter::kMessagesSent], 0U);
  modules.expect_idle();
}

TEST(Outgoing, on_refused__an_eager_message_is_ended_by_its_ack_only) {
  Modules modules;
  const std::uint32_t slot = modules.send(10);
  const Filled packet = modules.fill();
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTruncated);
  EXPECT_TRUE(modules.completions().empty());
  modules.ack(packet);
  EXPECT_EQ(modules.completions().size(), 1U);
}

TEST(Outgoing, on_credit__only_grows) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 3);
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 2);
  EXPECT_EQ(modules.channel().credit_received, 3U);
}

TEST(Outgoing, on_credit__without_a_channel_it_is_forgotten) {
  Modules modules;
  modules.faults.full = true;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 3);
  EXPECT_EQ(modules.state.channels.used(), 0U);
}

TEST(Outgoing, check_credit_probes__doubles_up_to_the_limit) {
  Modules modules;
  EndpointOptions& options = modules.state.options;
  options.credit_probe_first = milliseconds(10);
  options.credit_probe_max = milliseconds(30);
  announced(modules, 10'000);
  Channel& channel = modules.channel();
  const Instant first = modules.now + milliseconds(10);
  EXPECT_EQ(channel.credit_probe_at, first);
  EXPECT_EQ(modules.peer().credit_probe_at, first);
  modules.outgoing.check_credit_probes(first - nanoseconds(1), modules.peer());
  EXPECT_FALSE(channel.probe_due);
  EXPECT_EQ(modules.peer().credit_probe_at, first);
  modules.outgoing.check_credit_probes(first, modules.peer());
  EXPECT_TRUE(channel.probe_due);
  EXPECT_EQ(channel.credit_probe_at, first + milliseconds(20));
  EXPECT_EQ(modules.peer().credits.head,
            modules.state.find_channel(modules.flow_of(), kCommunicator.value));
  modules.outgoing.check_credit_probes(first + milliseconds(20), modules.peer());
  EXPECT_EQ(channel.credit_probe_interval, milliseconds(30));
  EXPECT_EQ(modules.peer().credit_probe_at, first + milliseconds(50));
  EXPECT_EQ(modules.peer().credits.head, modules.peer().credits.tail);  // queued once
}

TEST(Outgoing, check_credit_probes__nothing_announced_nothing_due) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  announced(modules, 10'000);
  modules.send(10, kOther);
  modules.outgoing.check_credit_probes(modules.now + seconds(9), modules.state.peer(second));
  EXPECT_EQ(modules.state.peer(second).credit_probe_at, Instant::never());
  EXPECT_FALSE(modules.channel().probe_due);
}

TEST(Outgoing, drop_peer__ends_everything_once) {
  Modules modules;
  const std::uint32_t granted = announced(modules, 10'000);
  modules.outgoing.on_grant(modules.flow_of(), granted, 0, 10'000);
  modules.send(10, kCommunicator, 1);
  const Filled under_way = modules.fill();
  modules.send(10, kCommunicator, 2);
  const std::uint32_t cancelled = modules.send(10, kOther, 3);
  modules.outgoing.end(cancelled, Errc::kCancelled);
  modules.outgoing.forget_packet(under_way.sent);
  modules.outgoing.drop_peer(modules.peer(), Errc::kPeerClosed);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 4U);
  EXPECT_EQ(done[0].status, Errc::kCancelled);
  for (std::size_t i = 1; i < done.size(); ++i) EXPECT_EQ(done[i].status, Errc::kPeerClosed);
  EXPECT_TRUE(modules.flow().channels.empty());
  EXPECT_TRUE(modules.flow().bulk.empty());
  modules.state.forget_channels_of(kPeer);
  EXPECT_EQ(modules.state.channels.used(), 0U);
  modules.expect_idle();
}

TEST(Outgoing, drop_peer__another_peer_keeps_its_items) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  modules.send(10);
  modules.outgoing.drop_peer(modules.state.peer(second), Errc::kPeerClosed);
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.fill().frames.size(), 1U);
}

}  // namespace
}  // namespace zhinu::core

#include "core/state.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "core/modules_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Faults;
using test::kCommunicator;
using test::kOther;
using test::Modules;
using test::small_options;

FlowId flow_of_class(TrafficClass traffic_class) { return flow_id(Modules::kPeer, traffic_class); }

// Fills every channel that is there for posts: communicators 10, 11, ...
void use_all_channels(Modules& modules) {
  for (std::uint16_t i = 0; i < modules.state.options.channels_max; ++i) {
    ASSERT_NE(modules.state.channel_of(modules.flow_of(), static_cast<std::uint16_t>(10 + i)),
              kNoSlot);
  }
}

// An ended send or receive of the user, in the order of the calls.
std::uint32_t ended_send(State& state, Errc status, std::uint64_t user) {
  const std::uint32_t slot = state.acquire_send();
  SendRecord& record = state.sends[slot];
  record.state = SendState::kQueued;
  record.flow = flow_of_class(TrafficClass::kGradient);
  record.has_user = true;
  record.length = 9;
  record.user = user;
  state.complete_send(slot, status);
  return slot;
}
std::uint32_t ended_receive(State& state, Errc status, std::uint64_t user) {
  const std::uint32_t slot = state.acquire_receive();
  ReceiveRecord& record = state.receives[slot];
  record.state = ReceiveState::kPosted;
  record.peer = Modules::kPeer;
  record.has_user = true;
  record.user = user;
  state.complete_receive(slot, status, 11);
  return slot;
}

// Nothing would ever move: told at once, and not by a job that stands still.
TEST(State, constructor__options_that_move_nothing) {
  const auto made_with = [](void (*change)(EndpointOptions&)) {
    EndpointOptions options;
    change(options);
    Modules modules(options);
  };
  made_with([](EndpointOptions& options) { options.sent_packets_max = kSentPacketsMin; });
  using Options = EndpointOptions;
  EXPECT_DEATH(made_with([](Options& options) { options.sent_packets_max = 7; }), "sent_packets");
  EXPECT_DEATH(made_with([](Options& options) { options.channels_max = 0; }), "channels_max");
  EXPECT_DEATH(made_with([](Options& options) { options.announced_max = 0; }), "announced_max");
  EXPECT_DEATH(made_with([](Options& options) { options.segment_maps_max = 0; }), "segment_maps");
  EXPECT_DEATH(made_with([](Options& options) { options.train_bytes = 0; }), "train_bytes");
  EXPECT_DEATH(made_with([](Options& options) { options.paths_max = 0; }), "paths_max");
  EXPECT_DEATH(made_with([](Options& options) { options.paths_max = 65; }), "kPathsMax");
  EXPECT_DEATH(made_with([](Options& options) { options.packet_bytes_max = 1'279; }),
               "kPacketBytesMin");
  EXPECT_DEATH(made_with([](Options& options) { options.class_weights[4] = 0; }), "class_weights");
}

TEST(State, flow_id__names_peer_and_class) {
  const FlowId id = flow_id(PeerId{5}, TrafficClass::kWeights);
  EXPECT_EQ(id.value, 43U);
  EXPECT_EQ(peer_of(id), PeerId{5});
  EXPECT_EQ(class_of(id), TrafficClass::kWeights);
}

TEST(State, communicator__unknown_page_and_unknown_entry_are_null) {
  Modules modules;
  EXPECT_NE(modules.state.communicator(1), nullptr);
  EXPECT_EQ(modules.state.communicator(2), nullptr);
  EXPECT_EQ(modules.state.communicator(0x100), nullptr);
}

TEST(State, acquire_send__full_until_one_is_released) {
  Modules modules;
  State& state = modules.state;
  for (std::uint32_t i = 0; i < state.options.sends_max; ++i) {
    ASSERT_NE(state.acquire_send(), kNoSlot);
  }
  EXPECT_EQ(state.acquire_send(), kNoSlot);
  state.sends.release(7);
  EXPECT_EQ(state.acquire_send(), 7U);
}

TEST(State, acquire_send__resets_what_the_last_owner_left_but_not_the_generation) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t slot = state.acquire_send();
  state.sends[slot].has_number = true;
  state.sends[slot].tag = 9;
  state.sends[slot].open_transfer();
  state.sends.release(slot);
  ASSERT_EQ(state.acquire_send(), slot);
  EXPECT_FALSE(state.sends[slot].has_number);
  EXPECT_FALSE(state.sends[slot].has_transfer);
  EXPECT_EQ(state.sends[slot].tag, 0U);
  EXPECT_EQ(state.sends[slot].generation, 1U);
}

TEST(State, acquire_receive__full_until_one_is_released) {
  Modules modules;
  State& state = modules.state;
  for (std::uint32_t i = 0; i < state.options.receives_max; ++i) {
    ASSERT_NE(state.acquire_receive(), kNoSlot);
  }
  EXPECT_EQ(state.acquire_receive(), kNoSlot);
  state.receives.release(3);
  EXPECT_EQ(state.acquire_receive(), 3U);
}

TEST(State, acquire_all__misbehaving_pools_are_full) {
  Modules modules;
  State& state = modules.state;
  modules.faults.full = true;
  EXPECT_EQ(state.acquire_send(), kNoSlot);
  EXPECT_EQ(state.acquire_receive(), kNoSlot);
  EXPECT_EQ(state.acquire_unexpected(true), kNoSlot);
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
}

TEST(State, acquire_unexpected__held_messages_leave_room_for_announcements) {
  Modules modules;
  State& state = modules.state;
  for (std::uint32_t i = 0; i < state.options.held_blocks_max; ++i) {
    ASSERT_NE(state.acquire_unexpected(false), kNoSlot);
  }
  EXPECT_EQ(state.acquire_unexpected(false), kNoSlot);
  const std::uint32_t announcements = state.options.channels_max * state.options.announced_max;
  for (std::uint32_t i = 0; i < announcements; ++i) {
    const std::uint32_t slot = state.acquire_unexpected(true);
    ASSERT_NE(slot, kNoSlot);
    EXPECT_TRUE(state.unexpected[slot].announced);
  }
  EXPECT_EQ(state.acquire_unexpected(true), kNoSlot);
}

TEST(State, release_unexpected__an_announcement_gives_no_room_for_held_bytes) {
  Modules modules;
  State& state = modules.state;
  std::vector<std::uint32_t> held;
  for (std::uint32_t i = 0; i < state.options.held_blocks_max; ++i) {
    held.push_back(state.acquire_unexpected(false));
  }
  const std::uint32_t announced = state.acquire_unexpected(true);
  state.unexpected[announced].flow = modules.flow_of();
  state.release_unexpected(announced);
  EXPECT_TRUE(state.unexpected[announced].flow.is_none());
  EXPECT_EQ(state.acquire_unexpected(false), kNoSlot);
  state.release_unexpected(held.front());
  EXPECT_NE(state.acquire_unexpected(false), kNoSlot);
}

TEST(State, channel_of__one_channel_for_each_flow_and_communicator) {
  Modules modules;
  State& state = modules.state;
  const FlowId gradient = flow_of_class(TrafficClass::kGradient);
  const FlowId weights = flow_of_class(TrafficClass::kWeights);
  const std::uint32_t first = state.channel_of(gradient, kCommunicator.value);
  const std::uint32_t second = state.channel_of(weights, kCommunicator.value);
  const std::uint32_t third = state.channel_of(gradient, kOther.value);
  EXPECT_EQ((std::set<std::uint32_t>{first, second, third}.size()), 3U);
  EXPECT_EQ(state.channel_of(gradient, kCommunicator.value), first);
  EXPECT_EQ(state.channel_of(weights, kCommunicator.value), second);
  EXPECT_EQ(state.channel_of(gradient, kOther.value), third);
  EXPECT_EQ(state.find_channel(gradient, kCommunicator.value), first);
  EXPECT_EQ(state.find_channel(weights, kOther.value), kNoSlot);
  EXPECT_EQ(state.channels[second].flow, weights);
  EXPECT_EQ(state.channels[third].communicator, kOther.value);
}

TEST(State, channel_of__the_cache_follows_the_last_look_up) {
  Modules modules;
  State& state = modules.state;
  Communicator& communicator = modules.communicator();
  EXPECT_EQ(communicator.cached_channel, nullptr);
  Channel* const gradient = state.channel_of(flow_of_class(TrafficClass::kGradient), communicator);
  EXPECT_EQ(communicator.cached_channel, gradient);
  EXPECT_EQ(&state.channels[gradient->slot], gradient);
  Channel* const weights = state.channel_of(flow_of_class(TrafficClass::kWeights), communicator);
  EXPECT_EQ(communicator.cached_channel, weights);
  EXPECT_NE(weights, gradient);
  EXPECT_EQ(state.channel_of(flow_of_class(TrafficClass::kGradient), communicator), gradient);
  EXPECT_EQ(communicator.cached_channel, gradient);
}

TEST(State, channel_of__the_cache_does_not_outlive_an_eviction) {
  Modules modules;
  State& state = modules.state;
  Communicator& communicator = modules.communicator();
  state.channel_of(modules.flow_of(), communicator)->credit_received = 5;
  for (std::uint16_t i = 0; i < 2 * state.channels.capacity(); ++i) {
    ASSERT_NE(state.channel_of(modules.flow_of(), static_cast<std::uint16_t>(10 + i)), kNoSlot);
  }
  ASSERT_EQ(state.find_channel(modules.flow_of(), kCommunicator.value), kNoSlot);
  const Channel* const again = state.channel_of(modules.flow_of(), communicator);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->communicator, kCommunicator.value);
  EXPECT_EQ(again->credit_received, 0U);
}

TEST(State, channel_of__evicts_only_what_is_idle) {
  Modules modules;
  State& state = modules.state;
  use_all_channels(modules);
  Flow& flow = modules.flow();
  state.channels[0].records = 1;
  state.channels[1].in_ring = true;
  state.channels[2].in_credit_queue = true;
  state.channels[3].has_last = true;
  state.channels[3].last_number = 1;
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
  flow.outgoing.mark(1);  // the last message of channel 3 was taken, or given up
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
  flow.outgoing.mark(0);  // and nothing before it can come any more
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), 3U);
  EXPECT_EQ(state.find_channel(modules.flow_of(), 13), kNoSlot);
  EXPECT_FALSE(state.channels[3].has_last);
}

TEST(State, channel_of__an_ordered_write_that_was_not_taken_keeps_its_channel) {
  Modules modules;
  State& state = modules.state;
  use_all_channels(modules);
  for (std::uint32_t slot = 0; slot < state.channels.capacity(); ++slot) {
    state.channels[slot].has_ordered = true;
    state.channels[slot].last_ordered = 1;
  }
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
  modules.flow().outgoing.mark(1);
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
  modules.flow().outgoing.mark(0);
  EXPECT_NE(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
}

TEST(State, channel_of__a_queued_send_keeps_its_channel) {
  Modules modules;
  State& state = modules.state;
  use_all_channels(modules);
  for (std::uint32_t slot = 0; slot < state.options.channels_max; ++slot) {
    state.channels[slot].queue.push_back(state.sends, state.acquire_send());
  }
  EXPECT_EQ(state.channel_of(modules.flow_of(), kCommunicator.value), kNoSlot);
}

TEST(State, channel_of__evictions_go_round) {
  Modules modules;
  State& state = modules.state;
  use_all_channels(modules);
  std::set<std::uint32_t> evicted;
  for (std::uint16_t i = 0; i < state.options.channels_max; ++i) {
    evicted.insert(state.channel_of(modules.flow_of(), static_cast<std::uint16_t>(50 + i)));
  }
  EXPECT_EQ(evicted.size(), state.options.channels_max);
  EXPECT_EQ(state.channel_index.size(), state.options.channels_max);
}

TEST(State, release_channels_of__forgets_the_credit_of_one_communicator) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t mine = state.channel_of(modules.flow_of(), kCommunicator.value);
  const std::uint32_t other = state.channel_of(modules.flow_of(), kOther.value);
  for (const std::uint32_t slot : {mine, other}) {
    state.channels[slot].credit_given = 1;
    state.channels[slot].credit_received = 2;
    state.channels[slot].messages_sent = 3;
  }
  state.release_channels_of(kCommunicator.value);
  EXPECT_EQ(state.channels[mine].credit_given, 0U);
  EXPECT_EQ(state.channels[mine].credit_received, 0U);
  EXPECT_EQ(state.channels[mine].messages_sent, 0U);
  EXPECT_EQ(state.channels[other].messages_sent, 3U);
}

TEST(State, forget_channels_of__only_those_of_the_peer) {
  Modules modules;
  State& state = modules.state;
  const PeerId second = modules.add_peer(4);
  state.channel_of(modules.flow_of(), kCommunicator.value);
  const std::uint32_t kept = state.channel_of(modules.flow_of(second), kCommunicator.value);
  state.forget_channels_of(Modules::kPeer);
  EXPECT_EQ(state.find_channel(modules.flow_of(), kCommunicator.value), kNoSlot);
  EXPECT_EQ(state.find_channel(modules.flow_of(second), kCommunicator.value), kept);
  EXPECT_EQ(state.channels.used(), 1U);
}

TEST(State, poll_completions__both_pools_in_the_order_of_the_results) {
  Modules modules;
  State& state = modules.state;
  ended_send(state, Errc::kOk, 1);
  ended_receive(state, Errc::kTruncated, 2);
  ended_receive(state, Errc::kOk, 3);
  ended_send(state, Errc::kCancelled, 4);
  ended_send(state, Errc::kOk, 5);
  std::array<Completion, 2> two;
  ASSERT_EQ(state.poll_completions(two), 2U);
  EXPECT_EQ(two[0].user, 1U);
  EXPECT_EQ(two[0].bytes, 9U);
  EXPECT_FALSE(two[0].operation.receives);
  EXPECT_EQ(two[1].user, 2U);
  EXPECT_EQ(two[1].status, Errc::kTruncated);
  EXPECT_EQ(two[1].bytes, 11U);
  EXPECT_TRUE(two[1].operation.receives);
  const std::vector<Completion> rest = modules.completions();
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest[0].user, 3U);
  EXPECT_EQ(rest[1].user, 4U);
  EXPECT_EQ(rest[1].bytes, 0U);  // of a send that failed
  EXPECT_EQ(rest[2].user, 5U);
  EXPECT_TRUE(modules.completions().empty());
  modules.expect_idle();
  ended_receive(state, Errc::kOk, 6);  // the list begins anew
  EXPECT_EQ(modules.completions().size(), 1U);
}

TEST(State, poll_completions__names_kind_and_generation) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t write = state.acquire_send();
  state.sends[write].state = SendState::kQueued;
  state.sends[write].kind = SendKind::kWrite;
  state.sends[write].flow = modules.flow_of();
  state.sends[write].has_user = true;
  const std::uint32_t read = state.acquire_receive();
  state.receives[read].state = ReceiveState::kWaiting;
  state.receives[read].kind = ReceiveKind::kRead;
  state.receives[read].has_user = true;
  const std::uint32_t generation = state.receives[read].generation;
  state.complete_send(write, Errc::kOk);
  state.complete_receive(read, Errc::kOk, 0);
  const std::vector<Completion> done = modules.completions();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].kind, OperationKind::kWrite);
  EXPECT_EQ(done[0].peer, Modules::kPeer);
  EXPECT_EQ(done[1].kind, OperationKind::kRead);
  EXPECT_EQ(done[1].operation, (Operation{read, generation, true}));
  EXPECT_EQ(state.receives[read].generation, generation + 1);
}

TEST(State, poll_completions__a_digest_mismatch_names_both_sides) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t slot = state.acquire_receive();
  ReceiveRecord& record = state.receives[slot];
  record.open_transfer();
  record.state = ReceiveState::kPosted;
  record.has_user = true;
  record.digest = 5;
  record.peer_digest = 6;
  state.complete_receive(slot, Errc::kDigestMismatch, 0);
  const std::vector<Completion> done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].own_digest, 5U);
  EXPECT_EQ(done[0].peer_digest, 6U);
}

TEST(State, poll_completions__late_ones_are_given_by_a_later_poll) {
  Modules modules;
  ended_send(modules.state, Errc::kOk, 1);
  modules.faults.late = true;
  EXPECT_TRUE(modules.completions().empty());
  modules.faults.late = false;
  EXPECT_EQ(modules.completions().size(), 1U);
}

TEST(State, try_release_send__waits_for_user_packets_and_cancel) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t slot = state.acquire_send();
  SendRecord& record = state.sends[slot];
  record.state = SendState::kAnnounced;
  record.flow = modules.flow_of();
  record.has_user = true;
  record.references = 1;
  record.cancel_pending = true;
  state.try_release_send(slot);  // it has not ended
  EXPECT_EQ(record.state, SendState::kAnnounced);
  state.complete_send(slot, Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(record.state, SendState::kEnded);
  record.references = 0;
  state.try_release_send(slot);
  EXPECT_EQ(record.state, SendState::kEnded);
  record.cancel_pending = false;
  state.try_release_send(slot);
  EXPECT_EQ(record.state, SendState::kFree);
  EXPECT_TRUE(modules.completions().empty());
}

TEST(State, complete_all__without_a_user_there_is_no_completion) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t sent = state.acquire_send();
  state.sends[sent].state = SendState::kQueued;
  state.sends[sent].has_user = false;
  state.complete_send(sent, Errc::kOk);
  const std::uint32_t received = state.acquire_receive();
  state.receives[received].state = ReceiveState::kIncoming;
  state.receives[received].has_user = false;
  state.complete_receive(received, Errc::kOk, 1);
  EXPECT_TRUE(modules.completions().empty());
  modules.expect_idle();
}

TEST(State, complete_all__deadlines_are_void) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t sent = state.acquire_send();
  state.sends[sent].state = SendState::kQueued;
  state.sends[sent].has_deadline = true;
  state.send_deadlines.insert(sent, modules.now + seconds(1));
  state.complete_send(sent, Errc::kOk);
  EXPECT_FALSE(state.send_deadlines.contains(sent));
  const std::uint32_t received = state.acquire_receive();
  state.receives[received].state = ReceiveState::kPosted;
  state.receives[received].has_deadline = true;
  state.receive_deadlines.insert(received, modules.now + seconds(1));
  state.complete_receive(received, Errc::kOk, 0);
  EXPECT_FALSE(state.receive_deadlines.contains(received));
}

TEST(State, push_event__full_ring_drops_and_counts) {
  Modules modules;
  State& state = modules.state;
  Event event;
  for (std::uint32_t i = 0; i < state.options.events_max; ++i) {
    EXPECT_FALSE(state.events_full());
    event.immediate = i;
    state.push_event(event);
  }
  EXPECT_TRUE(state.events_full());
  event.immediate = 99;
  state.push_event(event);
  EXPECT_EQ(state.counters[Counter::kDropEvents], 1U);
  Event out;
  for (std::uint32_t i = 0; i < state.options.events_max; ++i) {
    ASSERT_TRUE(state.poll_event(out));
    EXPECT_EQ(out.immediate, i);
  }
  EXPECT_FALSE(state.poll_event(out));
}

TEST(State, poll_event__the_ring_wraps) {
  Modules modules;
  State& state = modules.state;
  Event event;
  Event out;
  for (std::uint32_t i = 0; i < 3 * state.options.events_max + 1; ++i) {
    event.immediate = i;
    state.push_event(event);
    event.immediate = 1'000 + i;
    state.push_event(event);
    ASSERT_TRUE(state.poll_event(out));
    EXPECT_EQ(out.immediate, i);
    ASSERT_TRUE(state.poll_event(out));
    EXPECT_EQ(out.immediate, 1'000 + i);
  }
  EXPECT_EQ(state.counters[Counter::kDropEvents], 0U);
}

TEST(State, acquire_map__all_maps_then_none) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t first = state.acquire_map();
  const std::uint32_t second = state.acquire_map();
  EXPECT_EQ(first, 0U);
  EXPECT_EQ(second, 1U);
  EXPECT_EQ(state.acquire_map(), kNoSlot);
  EXPECT_EQ(state.map_words_of(first).size(), 8U);  // 64 KiB in units of 128 bytes
  EXPECT_EQ(state.map_words_of(second).data(), state.map_words_of(first).data() + 8);
  state.release_map(first);
  EXPECT_EQ(state.acquire_map(), first);
}

TEST(State, release_map__clears_the_words) {
  Modules modules;
  State& state = modules.state;
  const std::uint32_t slot = state.acquire_map();
  for (std::uint64_t& word : state.map_words_of(slot)) word = ~0ULL;
  state.release_map(slot);
  for (const std::uint64_t word : state.map_words_of(slot)) EXPECT_EQ(word, 0U);
}

TEST(State, acquire_map__misbehaves_only_while_another_is_in_use) {
  Modules modules;
  modules.faults.full = true;
  EXPECT_EQ(modules.state.acquire_map(), 0U);
  EXPECT_EQ(modules.state.acquire_map(), kNoSlot);
}

TEST(State, touch_timer__a_peer_is_noted_once) {
  Modules modules;
  modules.state.touch_timer(modules.peer());
  modules.state.touch_timer(modules.peer());
  EXPECT_EQ(modules.state.dirty_timers, std::vector<std::uint32_t>{0});
}

TEST(State, want_control__peers_line_up_once) {
  Modules modules;
  State& state = modules.state;
  const PeerId second = modules.add_peer(4);
  state.want_control(state.peer(second));
  state.want_control(modules.peer());
  state.want_control(state.peer(second));
  EXPECT_EQ(state.control_head, second);
  EXPECT_EQ(state.peer(second).control_ring_next, Modules::kPeer);
  EXPECT_EQ(state.control_tail, Modules::kPeer);
  EXPECT_TRUE(modules.peer().control_ring_next.is_none());
}

TEST(Flow, restart__keeps_the_places_and_forgets_the_session) {
  Modules modules;
  Flow& flow = modules.flow();
  flow.outgoing.mark(0);
  flow.incoming.mark(0);
  flow.next_number = 5;
  flow.window.on_sent(1'000);
  flow.has_notified = true;
  flow.cached_receive = 3;
  flow.in_ring = true;
  flow.restart(modules.state.options.window);
  EXPECT_EQ(flow.outgoing.floor(), 0U);
  EXPECT_EQ(flow.incoming.floor(), 0U);
  EXPECT_EQ(flow.next_number, 0U);
  EXPECT_EQ(flow.window.in_flight(), 0U);
  EXPECT_FALSE(flow.has_notified);
  EXPECT_EQ(flow.cached_receive, kNoSlot);
  EXPECT_TRUE(flow.in_ring);
}

}  // namespace
}  // namespace zhinu::core

// Covers transfers.cc and transfers_refusals.cc.
#include "core/transfers.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Engine;
using test::engine_options;

constexpr std::uint32_t kToken = 7;

FlowId flow_of(const Peer& peer) { return flow_id(peer.id, TrafficClass::kGradient); }

// A receive record that got message `number` of the peer.
std::uint32_t start(Engine& engine, const Peer& peer, std::uint64_t number, std::size_t bytes) {
  const std::uint32_t slot = engine.state.acquire_receive();
  ReceiveRecord& record = engine.state.receives[slot];
  record.kind = ReceiveKind::kReceive;
  record.has_user = true;
  record.communicator = test::kWorldCommunicator.value;
  record.buffer = engine.memory(bytes).data();
  record.capacity = bytes;
  record.user = number;
  engine.transfers.start(engine.now, slot, flow_of(peer), number, kToken, bytes);
  return slot;
}
Taken segment(Engine& engine, const Peer& peer, std::uint64_t number, std::uint64_t offset,
              ByteSpan bytes) {
  return engine.transfers.on_segment(engine.now, flow_of(peer), number, offset, bytes);
}
std::uint64_t pending(const Engine& engine, std::uint32_t slot) {
  const ReceiveRecord& record = engine.state.receives[slot];
  return record.granted - record.map.delivered();
}
std::vector<Completion> completions(Engine& engine) {
  std::array<Completion, 64> out;
  const std::size_t count = engine.state.poll_completions(out);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(Transfers, start__one_sender_gets_the_window_and_no_more) {
  EndpointOptions options = engine_options();
  options.grant_window_bytes = 256 * 1024;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 0, 1024 * 1024);
  const ReceiveRecord& record = engine.state.receives[slot];
  EXPECT_EQ(record.state, ReceiveState::kIncoming);
  EXPECT_EQ(record.granted, 256U * 1024);
  EXPECT_EQ(peer.grants.head, slot);
  EXPECT_EQ(peer.grants.tail, slot);
  EXPECT_TRUE(peer.in_control_ring);
}

TEST(Transfers, start__quantum_is_an_eighth_of_the_window_within_its_bounds) {
  const struct {
    std::uint64_t window;
    std::uint64_t granted;
  } cases[] = {
      {16 * 1024, 16 * 1024},               // quantum 8 KiB, twice
      {24 * 1024 - 1, 24'448},              // the third as far as it fits, in whole units
      {4 * 1024, 8 * 1024},                 // one is granted in any case
      {1024 * 1024, 1024 * 1024},           // 64 KiB, 16 times
      {1024 * 1024 + 32'767, 1024 * 1024},  // less than half a quantum is not worth a frame
  };
  for (const auto& each : cases) {
    EndpointOptions options = engine_options();
    options.grant_window_bytes = each.window;
    Engine engine(options);
    const std::uint32_t slot = start(engine, engine.add_peer(), 0, 2 * 1024 * 1024);
    EXPECT_EQ(engine.state.receives[slot].granted, each.granted) << each.window;
  }
}

TEST(Transfers, start__grant_ends_with_the_message) {
  Engine engine;
  const std::uint32_t slot = start(engine, engine.add_peer(), 0, 10'001);
  EXPECT_EQ(engine.state.receives[slot].granted, 10'001U);
}

TEST(Transfers, start__nothing_beyond_the_span_of_the_map) {
  EndpointOptions options = engine_options();
  options.message_span_bytes = 64 * 1024;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 0, 256 * 1024);
  const ReceiveRecord& record = engine.state.receives[slot];
  EXPECT_EQ(record.granted, 64U * 1024);
  const std::vector<std::byte> bytes(4'096, std::byte{5});
  EXPECT_EQ(segment(engine, peer, 0, 64 * 1024, bytes), Taken::kNoRoom);
  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(record.granted, 68U * 1024);
}

TEST(Transfers, pump__window_holds_over_32_senders_and_turns_are_fair) {
  constexpr std::uint32_t kSenders = 32;
  constexpr std::uint64_t kWindow = 256 * 1024;
  constexpr std::uint64_t kQuantum = kWindow / 8;
  constexpr std::uint64_t kMessage = 512 * 1024;
  EndpointOptions options = engine_options();
  options.grant_window_bytes = kWindow;
  Engine engine(options);
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < kSenders; ++i) engine.add_peer();
  for (const auto& peer : engine.state.peers) slots.push_back(start(engine, *peer, 0, kMessage));
  const std::vector<std::byte> bytes(8'192, std::byte{5});
  std::uint64_t delivered = 0;
  for (std::uint32_t turn = 0; delivered < kSenders * kMessage; ++turn) {
    // Whoever has the most to come sends one segment.
    std::uint32_t from = turn % kSenders;
    std::uint64_t sum = 0;
    std::uint64_t least = kMessage;
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      const ReceiveRecord& record = engine.state.receives[slots[i]];
      if (record.state != ReceiveState::kIncoming) continue;
      sum += pending(engine, slots[i]);
      if (engine.state.receives[slots[from]].state != ReceiveState::kIncoming ||
          pending(engine, slots[i]) > pending(engine, slots[from])) {
        from = i;
      }
      if (i == 0) continue;  // it was alone when it began
      least = std::min(least, record.granted);
      most = std::max(most, record.granted);
    }
    ASSERT_LE(sum, kWindow);
    if (most > 0) {
      ASSERT_LE(most - std::min(most, least), kQuantum);
    }
    const std::uint64_t at = engine.state.receives[slots[from]].map.delivered();
    ASSERT_EQ(segment(engine, engine.state.peer({from}), 0, at, bytes), Taken::kYes);
    delivered += bytes.size();
  }
  EXPECT_EQ(completions(engine).size(), kSenders);
  EXPECT_EQ(engine.state.receives.used(), 0U);
  EXPECT_EQ(engine.state.incoming_index.size(), 0U);
  EXPECT_EQ(engine.count(Counter::kMessagesReceived), kSenders);
}

TEST(Transfers, pump__messages_of_one_flow_take_turns) {
  EndpointOptions options = engine_options();
  options.grant_window_bytes = 64 * 1024;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::uint32_t first = start(engine, peer, 0, 128 * 1024);
  const std::uint32_t second = start(engine, peer, 1, 128 * 1024);
  EXPECT_EQ(engine.state.receives[first].granted, 64U * 1024);
  EXPECT_EQ(engine.state.receives[second].granted, 0U);
  const std::vector<std::byte> bytes(32'768, std::byte{5});
  ASSERT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(engine.state.receives[first].granted, (64U + 16U) * 1024);
  EXPECT_EQ(engine.state.receives[second].granted, 16U * 1024);
}

TEST(Transfers, handle_timeout__silent_sender_leaves_the_window_to_others) {
  EndpointOptions options = engine_options();
  options.grant_window_bytes = 64 * 1024;
  Engine engine(options);
  Peer& silent = engine.add_peer();
  Peer& other = engine.add_peer();
  const std::uint32_t first = start(engine, silent, 0, 1024 * 1024);
  EXPECT_EQ(engine.transfers.timeout(), engine.now + milliseconds(10));
  const std::uint32_t second = start(engine, other, 0, 1024 * 1024);
  EXPECT_EQ(engine.state.receives[second].granted, 0U);

  engine.now = engine.now + milliseconds(10);
  engine.transfers.handle_timeout(engine.now - nanoseconds(1));
  EXPECT_FALSE(engine.state.receives[first].stalled);
  engine.transfers.handle_timeout(engine.now);
  // Both were silent for as long; the ring goes on with the first, then the second.
  EXPECT_TRUE(engine.state.receives[first].stalled);
  EXPECT_GT(engine.state.receives[second].granted, 0U);

  const std::uint64_t granted = engine.state.receives[second].granted;
  const std::vector<std::byte> bytes(8'192, std::byte{5});
  ASSERT_EQ(segment(engine, silent, 0, 0, bytes), Taken::kYes);
  EXPECT_FALSE(engine.state.receives[first].stalled);  // it counts again
  EXPECT_EQ(engine.state.receives[second].granted, granted);
}

TEST(Transfers, start__waits_for_a_map_and_refuses_segments_meanwhile) {
  EndpointOptions options = engine_options();
  options.segment_maps_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::uint32_t first = start(engine, peer, 0, 4'096);
  const std::uint32_t second = start(engine, peer, 1, 4'096);
  const std::uint32_t third = start(engine, peer, 2, 4'096);
  EXPECT_EQ(engine.state.receives[first].state, ReceiveState::kIncoming);
  EXPECT_EQ(engine.state.receives[second].state, ReceiveState::kMatched);
  EXPECT_EQ(engine.state.receives[second].granted, 0U);

  const std::vector<std::byte> bytes(4'096, std::byte{5});
  EXPECT_EQ(segment(engine, peer, 1, 0, bytes), Taken::kYes);
  EXPECT_EQ(peer.refusal_count, 1U);
  const Refusal& refusal = engine.state.refusals[peer.refusals.head];
  EXPECT_EQ(refusal.number, 1U);
  EXPECT_EQ(refusal.token, kToken);
  EXPECT_EQ(refusal.code, Errc::kNotHeld);

  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(engine.state.receives[second].state, ReceiveState::kIncoming);
  EXPECT_EQ(engine.state.receives[second].granted, 4'096U);
  EXPECT_EQ(engine.state.receives[third].state, ReceiveState::kMatched);
  EXPECT_EQ(segment(engine, peer, 1, 0, bytes), Taken::kYes);
  EXPECT_EQ(engine.state.receives[third].state, ReceiveState::kIncoming);
  ASSERT_EQ(completions(engine).size(), 2U);
}

TEST(Transfers, drop__of_one_that_waits_for_a_map) {
  EndpointOptions options = engine_options();
  options.segment_maps_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  start(engine, peer, 0, 4'096);
  const std::uint32_t second = start(engine, peer, 1, 4'096);
  engine.transfers.drop(engine.now, second, Errc::kCancelled);
  const auto done = completions(engine);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kCancelled);
  EXPECT_EQ(done[0].bytes, 0U);
  EXPECT_EQ(engine.state.receives.used(), 1U);
}

TEST(Transfers, on_segment__copies_once_and_knows_duplicates) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 0, 1'000);
  const std::byte* const buffer = engine.state.receives[slot].buffer;
  const auto bytes = test::sample_packet(1'000, 99);
  const ByteSpan all(bytes);
  EXPECT_EQ(segment(engine, peer, 0, 512, all.subspan(512)), Taken::kYes);
  EXPECT_EQ(segment(engine, peer, 0, 512, all.subspan(512)), Taken::kDuplicate);
  EXPECT_EQ(segment(engine, peer, 0, 0, all.first(512)), Taken::kYes);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), buffer));
  EXPECT_EQ(engine.count(Counter::kDuplicateSegments), 1U);
  const auto done = completions(engine);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kOk);
  EXPECT_EQ(done[0].bytes, 1'000U);

  engine.state.flow(flow_of(peer)).incoming.mark(0);
  EXPECT_EQ(segment(engine, peer, 0, 0, all.first(512)), Taken::kDuplicate);
  EXPECT_EQ(engine.count(Counter::kLateSegments), 1U);
}

TEST(Transfers, on_segment__before_its_announcement_counts_as_lost) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::vector<std::byte> bytes(128);
  EXPECT_EQ(segment(engine, peer, 3, 0, bytes), Taken::kNoRoom);
  EXPECT_EQ(engine.count(Counter::kDropEarlySegment), 1U);
  EXPECT_EQ(peer.refusal_count, 0U);
}

// The packet that brought both must be acknowledged, or its sender never hears of the refusal.
TEST(Transfers, on_segment__whose_announcement_was_not_held_is_refused_with_it) {
  Engine engine;
  Peer& peer = engine.add_peer();
  Flow& flow = engine.state.flow(flow_of(peer));
  flow.not_held.add(3);
  const std::vector<std::byte> bytes(128);
  EXPECT_EQ(segment(engine, peer, 3, 0, bytes), Taken::kYes);
  EXPECT_EQ(segment(engine, peer, 3, 128, bytes), Taken::kYes);
  EXPECT_EQ(peer.refusal_count, 1U);
  const Refusal& refusal = engine.state.refusals[peer.refusals.head];
  EXPECT_EQ(refusal.number, 3U);
  EXPECT_EQ(refusal.token, kUnknownToken);
  EXPECT_EQ(refusal.code, Errc::kNotHeld);
  engine.transfers.forget_refusal(flow_of(peer), 3);  // the announcement came in: they did not
  EXPECT_EQ(peer.refusal_count, 1U);
  EXPECT_EQ(segment(engine, peer, 3 + NumberWindow::kWindow, 0, bytes), Taken::kNoRoom);
}

TEST(Transfers, on_segment__impossible_ranges_are_bad) {
  Engine engine;
  Peer& peer = engine.add_peer();
  start(engine, peer, 0, 1'000);
  const std::vector<std::byte> bytes(1'024);
  const ByteSpan all(bytes);
  EXPECT_EQ(segment(engine, peer, 0, 1, all.first(128)), Taken::kBad);
  EXPECT_EQ(segment(engine, peer, 0, 0, all.first(100)), Taken::kBad);
  EXPECT_EQ(segment(engine, peer, 0, 0, all), Taken::kBad);
  EXPECT_EQ(segment(engine, peer, 0, 0, all.first(0)), Taken::kBad);
}

TEST(Transfers, on_segment__unscheduled_before_a_match_is_refused_and_granted_later) {
  Engine engine;
  Peer& peer = engine.add_peer();
  wire::Frame announce;
  announce.kind = wire::FrameKind::kAnnounce;
  announce.communicator = test::kWorldCommunicator.value;
  announce.length = 20'000;
  announce.token = kToken;
  announce.number = 0;
  ASSERT_EQ(engine.incoming.on_message(engine.now, engine.state.flow(flow_of(peer)), flow_of(peer),
                                       announce),
            Taken::kYes);
  const std::vector<std::byte> bytes(1'280);
  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(segment(engine, peer, 0, 1'280, bytes), Taken::kYes);
  EXPECT_EQ(peer.refusal_count, 1U);  // one serves both until it was sent
  EXPECT_TRUE(peer.grants.empty());

  ReceiveArgs args;
  args.peer = peer.id;
  args.communicator = test::kWorldCommunicator;
  args.buffer = engine.memory(20'000);
  const std::uint32_t slot = engine.incoming.post_receive(
      engine.now, *engine.state.communicator(args.communicator.value), args);
  EXPECT_EQ(engine.state.receives[slot].state, ReceiveState::kIncoming);
  EXPECT_TRUE(engine.state.receives[slot].refused);
  EXPECT_EQ(peer.grants.head, slot);
}

TEST(Transfers, refuse__one_path_each_and_no_more_than_a_packet_takes) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint64_t i = 0; i < kRefusalsPerPeerMax; ++i) {
    ASSERT_TRUE(engine.transfers.refuse(flow_of(peer), 2 * i, kNoSlot, Errc::kNotHeld));
  }
  EXPECT_FALSE(engine.transfers.refuse(flow_of(peer), 200, kNoSlot, Errc::kNotHeld));
  EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), 4, kNoSlot, Errc::kNotHeld));  // is there
  EXPECT_EQ(peer.refusal_count, kRefusalsPerPeerMax);
  EXPECT_EQ(engine.count(Counter::kEagerNotHeld), kRefusalsPerPeerMax);
  engine.transfers.forget_refusal(flow_of(peer), 4);
  EXPECT_EQ(peer.refusal_count, kRefusalsPerPeerMax - 1);
  engine.state.arriving_path = 1;
  EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), 6, kNoSlot, Errc::kNotHeld));
  EXPECT_EQ(peer.refusal_count, kRefusalsPerPeerMax);  // the same message on another path
}

// First number and count of each refusal.
std::vector<std::pair<std::uint64_t, std::uint32_t>> runs_of(Engine& engine, Peer& peer) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> runs;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;
       slot = engine.state.refusals[slot].next) {
    runs.emplace_back(engine.state.refusals[slot].number, engine.state.refusals[slot].count);
  }
  return runs;
}
using Runs = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

TEST(Transfers, refuse__numbers_in_a_row_share_a_refusal) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const auto refuse = [&](std::uint64_t number, Errc code = Errc::kNotHeld) {
    EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), number, kNoSlot, code));
  };
  for (const std::uint64_t number : {5U, 6U, 7U, 9U, 10U, 8U}) refuse(number);
  EXPECT_EQ(runs_of(engine, peer), (Runs{{5, 3}, {9, 2}, {8, 1}}));
  refuse(9, Errc::kRegionRefused);  // another code
  refuse(10, Errc::kRegionRefused);
  engine.state.arriving_path = 1;
  refuse(11, Errc::kRegionRefused);  // another path
  peer.packet_refusals = peer.refusal_sequence;
  refuse(12, Errc::kRegionRefused);  // another packet: it may be taken back
  EXPECT_EQ(runs_of(engine, peer), (Runs{{5, 3}, {9, 2}, {8, 1}, {9, 2}, {11, 1}, {12, 1}}));
  EXPECT_EQ(engine.count(Counter::kEagerNotHeld), 3U);
}

TEST(Transfers, refuse__a_packet_full_of_messages_is_one_run) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint64_t number = 0; number < wire::kFramesMax; ++number) {
    EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), number, kNoSlot, Errc::kNotHeld));
  }
  EXPECT_EQ(runs_of(engine, peer), (Runs{{0, wire::kFramesMax}}));
  EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), wire::kFramesMax, kNoSlot, Errc::kNotHeld));
  EXPECT_EQ(peer.refusal_count, 2U);
}

TEST(Transfers, forget_refusal__leaves_the_others_of_a_run) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint64_t number = 0; number < 9; ++number) {
    EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), number, kNoSlot, Errc::kNotHeld));
  }
  engine.transfers.forget_refusal(flow_of(peer), 0);
  EXPECT_EQ(runs_of(engine, peer), (Runs{{1, 8}}));
  engine.transfers.forget_refusal(flow_of(peer), 8);
  EXPECT_EQ(runs_of(engine, peer), (Runs{{1, 7}}));
  engine.transfers.forget_refusal(flow_of(peer), 4);
  EXPECT_EQ(runs_of(engine, peer), (Runs{{1, 3}, {5, 3}}));
  for (const std::uint64_t number : {2U, 1U, 3U, 5U, 6U}) {
    engine.transfers.forget_refusal(flow_of(peer), number);
  }
  EXPECT_EQ(runs_of(engine, peer), (Runs{{7, 1}}));
  engine.transfers.forget_refusal(flow_of(peer), 7);
  EXPECT_EQ(peer.refusal_count, 0U);
  EXPECT_EQ(engine.state.refusals.used(), 0U);
}

TEST(Transfers, forget_refusal__without_a_record_for_the_rest_the_run_stays) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint64_t number = 0; number < 9; ++number) {
    EXPECT_TRUE(engine.transfers.refuse(flow_of(peer), number, kNoSlot, Errc::kNotHeld));
  }
  while (engine.state.refusals.acquire() != kNoSlot) {
  }
  engine.transfers.forget_refusal(flow_of(peer), 4);
  EXPECT_EQ(runs_of(engine, peer), (Runs{{0, 9}}));
}

TEST(Transfers, refuse__pool_of_all_peers_is_full) {
  EndpointOptions options = engine_options();
  options.refusals_max = 2;  // one packet may cause more: it is 64
  Engine engine(options);
  Peer& first = engine.add_peer();
  Peer& second = engine.add_peer();
  for (std::uint64_t i = 0; i < kRefusalsPerPeerMax - 1; ++i) {
    EXPECT_TRUE(engine.transfers.refuse(flow_of(first), 2 * i, kNoSlot, Errc::kNotHeld));
  }
  EXPECT_TRUE(engine.transfers.tell_end(flow_of(first), 1, kToken, Errc::kTruncated));
  EXPECT_FALSE(engine.transfers.refuse(flow_of(second), 0, kNoSlot, Errc::kNotHeld));
  // What ends here is told all the same.
  EXPECT_TRUE(engine.transfers.tell_end(flow_of(second), 1, kToken, Errc::kTruncated));
}

TEST(Transfers, take_back_refusals__of_a_packet_that_counts_as_lost) {
  Engine engine;
  Peer& peer = engine.add_peer();
  ASSERT_TRUE(engine.transfers.refuse(flow_of(peer), 0, kNoSlot, Errc::kNotHeld));
  const std::uint32_t before = peer.refusal_sequence;
  ASSERT_TRUE(engine.transfers.refuse(flow_of(peer), 1, kNoSlot, Errc::kNotHeld));
  ASSERT_TRUE(engine.transfers.refuse(flow_of(peer), 2, kNoSlot, Errc::kNotHeld));
  engine.transfers.take_back_refusals(peer, before);
  EXPECT_EQ(peer.refusal_count, 1U);
  EXPECT_EQ(engine.state.refusals[peer.refusals.head].number, 0U);
  EXPECT_EQ(peer.refusals.head, peer.refusals.tail);
}

// Refusals of two paths leave with the ACKs of both; only what was acknowledged is forgotten.
TEST(Transfers, refuse__is_forgotten_only_with_an_ack_of_its_path) {
  Engine engine;
  Peer& peer = engine.add_peer();
  for (std::uint8_t path = 0; path < 2; ++path) {
    engine.in_path(peer, path).on_packet(engine.now, 0, 100, true, false);
    engine.state.arriving_path = path;
    ASSERT_TRUE(engine.transfers.refuse(flow_of(peer), path, kNoSlot, Errc::kNotHeld));
  }
  peer.ack_mask = 1;  // path 0 alone owes an ACK
  peer.ack_due_at = engine.now;
  engine.state.want_control(peer);
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  EXPECT_EQ(test::kinds_of(out), (std::vector{wire::FrameKind::kRefuse, wire::FrameKind::kAck}));
  EXPECT_EQ(out.packet->frames[0].number, 0U);
  ASSERT_FALSE(engine.poll(out));
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));
  ASSERT_EQ(peer.refusal_count, 1U);
  EXPECT_EQ(engine.state.refusals[peer.refusals.head].in_path, 1U);
}

TEST(Transfers, end__tells_the_sender_and_completes) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 4, 100'000);
  ASSERT_TRUE(engine.transfers.end(engine.now, slot, Errc::kCancelled, Errc::kPeerCancelled));
  const auto done = completions(engine);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kCancelled);
  EXPECT_TRUE(peer.grants.empty());
  Transmit out;
  ASSERT_TRUE(engine.poll(out));
  ASSERT_EQ(test::kinds_of(out), std::vector{wire::FrameKind::kRefuse});
  EXPECT_EQ(out.packet->frames[0].number, 4U);
  EXPECT_EQ(out.packet->frames[0].token, kToken);
  EXPECT_EQ(out.packet->frames[0].code, Errc::kPeerCancelled);
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));
  EXPECT_EQ(engine.state.refusals.used(), 0U);
}

// The ending was lost: the segments that come meanwhile are not acknowledged without it.
TEST(Transfers, on_segment__of_one_that_ended_is_refused_until_the_sender_knows) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::vector<std::byte> bytes(1'280);
  const std::uint32_t slot = start(engine, peer, 0, 100'000);
  engine.state.flow(flow_of(peer)).incoming.mark(0);
  ASSERT_TRUE(engine.transfers.end(engine.now, slot, Errc::kCancelled, Errc::kPeerCancelled));
  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(segment(engine, peer, 0, 1'280, bytes), Taken::kYes);
  ASSERT_EQ(peer.refusal_count, 1U);
  const Refusal& refusal = engine.state.refusals[peer.refusals.head];
  EXPECT_EQ(refusal.number, 0U);
  EXPECT_EQ(refusal.token, kToken);
  EXPECT_EQ(refusal.code, Errc::kPeerCancelled);

  Transmit out;
  ASSERT_TRUE(engine.poll(out));  // the ending
  ASSERT_TRUE(engine.ack(peer, 0, {{0, 0}}));
  EXPECT_EQ(segment(engine, peer, 0, 2'560, bytes), Taken::kDuplicate);
  EXPECT_EQ(engine.count(Counter::kLateSegments), 3U);
}

TEST(Transfers, on_segment__revoked_without_room_to_tell_is_refused_later) {
  EndpointOptions options = engine_options();
  options.refusals_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::vector<std::byte> bytes(1'280);
  const std::uint32_t slot = start(engine, peer, 0, 100'000);
  engine.state.flow(flow_of(peer)).incoming.mark(0);
  std::vector<std::uint32_t> taken;
  while (engine.state.refusals.available() > 0) taken.push_back(engine.state.refusals.acquire());
  engine.transfers.revoke(engine.now, slot);
  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kNoRoom);
  for (const std::uint32_t refusal : taken) engine.state.refusals.release(refusal);
  EXPECT_EQ(segment(engine, peer, 0, 0, bytes), Taken::kYes);
  EXPECT_EQ(completions(engine).at(0).status, Errc::kRegionRefused);
  ASSERT_EQ(peer.refusal_count, 1U);
  EXPECT_EQ(engine.state.refusals[peer.refusals.head].code, Errc::kRegionRefused);
}

TEST(Transfers, end__no_room_to_tell_changes_nothing) {
  EndpointOptions options = engine_options();
  options.refusals_max = 1;
  Engine engine(options);
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 0, 100'000);
  while (engine.state.refusals.available() > 0) {
    ASSERT_TRUE(engine.transfers.tell_end(flow_of(peer), 9, kToken, Errc::kTruncated));
  }
  EXPECT_FALSE(engine.transfers.end(engine.now, slot, Errc::kCancelled, Errc::kPeerCancelled));
  EXPECT_EQ(engine.state.receives[slot].state, ReceiveState::kIncoming);
  EXPECT_TRUE(completions(engine).empty());
}

TEST(Transfers, repeat_grants__names_the_granted_messages_of_the_communicator) {
  Engine engine;
  Peer& peer = engine.add_peer();
  const std::uint32_t slot = start(engine, peer, 0, 100'000);
  ASSERT_EQ(engine.drain(), 1U);
  ASSERT_TRUE(peer.grants.empty());
  engine.transfers.repeat_grants(flow_of(peer), 2);
  EXPECT_TRUE(peer.grants.empty());
  engine.transfers.repeat_grants(flow_of(peer), test::kWorldCommunicator.value);
  engine.transfers.repeat_grants(flow_of(peer), test::kWorldCommunicator.value);
  EXPECT_EQ(peer.grants.head, slot);
  EXPECT_EQ(peer.grants.tail, slot);
}

}  // namespace
}  // namespace zhinu::core

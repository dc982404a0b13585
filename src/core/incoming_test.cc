// Matching and holding of two-sided messages: incoming.cc, incoming_waiting.cc.
#include "core/incoming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/modules_fixture_test.h"

namespace zhinu::core {
namespace {

using test::kCommunicator;
using test::kOther;
using test::Modules;
using test::small_options;
using wire::FrameKind;

constexpr PeerId kPeer = Modules::kPeer;

wire::Frame message(ByteSpan data, std::uint32_t tag = 0, std::uint8_t order = 0) {
  wire::Frame frame;
  frame.kind = FrameKind::kMessage;
  frame.communicator = kCommunicator.value;
  frame.tag = tag;
  frame.order = order;
  frame.length = data.size();
  frame.payload = data.data();
  return frame;
}

wire::Frame announcement(std::uint64_t length, std::uint32_t token, std::uint32_t tag = 0,
                         std::uint8_t order = 0) {
  wire::Frame frame;
  frame.kind = FrameKind::kAnnounce;
  frame.communicator = kCommunicator.value;
  frame.tag = tag;
  frame.order = order;
  frame.length = length;
  frame.token = token;
  return frame;
}

Taken arrive(Modules& modules, wire::Frame frame, std::uint64_t number, PeerId from = kPeer,
             TrafficClass traffic_class = TrafficClass::kGradient) {
  const FlowId flow = flow_id(from, traffic_class);
  frame.number = number;
  return modules.incoming.on_message(modules.now, modules.state.flow(flow), flow, frame);
}

const Refusal& last_refusal(Modules& modules) {
  return modules.state.refusals[modules.peer().refusals.tail];
}
const Refusal& last_ending(Modules& modules) {
  return modules.state.refusals[modules.peer().endings.tail];
}

TEST(Incoming, on_message__to_the_posted_receive) {
  Modules modules;
  const MutableByteSpan buffer = modules.memory(100);
  const ByteSpan data = modules.content(80);
  modules.receive(buffer, 4);
  EXPECT_EQ(arrive(modules, message(data, 4), 0), Taken::kYes);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kOk);
  EXPECT_EQ(done[0].kind, OperationKind::kReceive);
  EXPECT_EQ(done[0].bytes, 80U);
  EXPECT_EQ(done[0].peer, kPeer);
  EXPECT_EQ(done[0].tag, 4U);
  EXPECT_EQ(done[0].user, 204U);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), buffer.begin()));
  EXPECT_EQ(modules.communicator().posted_count, 0U);
  EXPECT_EQ(modules.flow().incoming.floor(), 1U);
  EXPECT_EQ(modules.state.counters[Counter::kMessagesReceived], 1U);
  modules.expect_idle();
}

TEST(Incoming, on_message__a_copy_is_counted_and_dropped) {
  Modules modules;
  modules.receive(modules.memory(10));
  modules.receive(modules.memory(10));
  const wire::Frame frame = message(modules.content(10));
  EXPECT_EQ(arrive(modules, frame, 0), Taken::kYes);
  EXPECT_EQ(arrive(modules, frame, 0), Taken::kDuplicate);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.state.counters[Counter::kDuplicateMessages], 1U);
}

TEST(Incoming, on_message__a_number_beyond_the_window_breaks_the_protocol) {
  Modules modules;
  EXPECT_EQ(arrive(modules, message({}), NumberWindow::kWindow), Taken::kBad);
  EXPECT_EQ(arrive(modules, message({}), NumberWindow::kWindow - 1), Taken::kYes);
}

TEST(Incoming, take_posted__tag_class_and_source_must_fit) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  modules.receive(modules.memory(10), 2);
  EXPECT_EQ(arrive(modules, message(modules.content(10), 1), 0), Taken::kYes);
  EXPECT_EQ(arrive(modules, message(modules.content(10), 2), 0, second), Taken::kYes);
  const wire::Frame same_tag = message(modules.content(10), 2);
  arrive(modules, same_tag, 0, kPeer, TrafficClass::kWeights);
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.communicator().unexpected_count, 3U);
  EXPECT_EQ(arrive(modules, same_tag, 1), Taken::kYes);
  EXPECT_EQ(modules.completions().size(), 1U);
}

TEST(Incoming, take_posted__any_source_and_order_of_posting) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  ReceiveArgs args;
  args.communicator = kCommunicator;
  for (std::uint64_t user = 1; user <= 3; ++user) {
    args.peer = user == 2 ? kPeer : PeerId::none();
    args.buffer = modules.memory(10);
    args.user = user;
    modules.incoming.post_receive(modules.now, modules.communicator(), args);
  }
  arrive(modules, message(modules.content(10)), 0, second);
  arrive(modules, message(modules.content(10)), 1, second);
  arrive(modules, message(modules.content(10)), 0);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].user, 1U);
  EXPECT_EQ(done[0].peer, second);
  EXPECT_EQ(done[1].user, 3U);
  EXPECT_EQ(done[2].user, 2U);
  EXPECT_EQ(done[2].peer, kPeer);
}

TEST(Incoming, post_receive__takes_the_oldest_that_waits) {
  Modules modules;
  const ByteSpan first = modules.content(700, 5);
  const ByteSpan second = modules.content(700, 6);
  arrive(modules, message(first), 0);
  arrive(modules, message(second), 1);
  EXPECT_EQ(modules.peer().held_bytes, 1'400U);
  EXPECT_EQ(modules.communicator().held_bytes, 1'400U);
  const MutableByteSpan buffer = modules.memory(700);
  modules.receive(buffer, 0, PeerId::none());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), buffer.begin()));
  modules.receive(buffer);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), buffer.begin()));
  EXPECT_EQ(modules.completions().size(), 2U);
  EXPECT_EQ(modules.peer().held_bytes, 0U);
  EXPECT_EQ(modules.communicator().held_bytes, 0U);
  modules.expect_idle();
}

TEST(Incoming, post_receive__full_pool_of_receives) {
  Modules modules;
  for (std::uint32_t i = 0; i < modules.state.options.receives_max; ++i) {
    ASSERT_NE(modules.receive({}), kNoSlot);
  }
  EXPECT_EQ(modules.receive({}), kNoSlot);
}

TEST(Incoming, post_receive__tells_credit_for_large_buffers_only) {
  Modules modules;
  modules.receive(modules.memory(1'024));
  EXPECT_EQ(modules.channel().credit_given, 1U);
  EXPECT_TRUE(modules.peer().credits.empty());
  modules.receive(modules.memory(1'025));
  EXPECT_EQ(modules.channel().credit_given, 2U);
  EXPECT_TRUE(modules.channel().credit_dirty);
  EXPECT_TRUE(modules.peer().in_control_ring);
  modules.receive(modules.memory(1'025));
  EXPECT_EQ(modules.peer().credits.head, modules.peer().credits.tail);  // queued once
  EXPECT_EQ(modules.channel().credit_given, 3U);
}

TEST(Incoming, post_receive__any_source_gives_no_credit) {
  Modules modules;
  modules.receive(modules.memory(2'000), 0, PeerId::none());
  EXPECT_EQ(modules.state.channels.used(), 0U);
}

TEST(Incoming, give__a_message_larger_than_its_receive) {
  Modules modules;
  const MutableByteSpan buffer = modules.memory(10);
  modules.receive(buffer);
  EXPECT_EQ(arrive(modules, message(modules.content(11)), 0), Taken::kYes);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kTruncated);
  EXPECT_EQ(done[0].bytes, 11U);
  EXPECT_TRUE(std::all_of(buffer.begin(), buffer.end(), [](auto b) { return b == std::byte{0}; }));
  EXPECT_TRUE(modules.peer().endings.empty());
}

TEST(Incoming, give__an_announced_one_that_is_larger_tells_its_sender) {
  Modules modules;
  arrive(modules, announcement(5'000, 9), 0);
  modules.receive(modules.memory(4'999));
  EXPECT_EQ(modules.completions().at(0).status, Errc::kTruncated);
  EXPECT_EQ(last_ending(modules).code, Errc::kTruncated);
  EXPECT_EQ(last_ending(modules).token, 9U);
  EXPECT_TRUE(modules.incoming.abort_requests().empty());
  modules.expect_idle();
}

TEST(Incoming, give__without_room_to_tell_the_communicator_is_aborted) {
  Modules modules;
  while (modules.state.refusals.acquire() != kNoSlot) {
  }
  arrive(modules, announcement(5'000, 9), 0);
  modules.receive(modules.memory(10));
  ASSERT_EQ(modules.incoming.abort_requests().size(), 1U);
  EXPECT_EQ(modules.incoming.abort_requests()[0].code, Errc::kTruncated);
}

TEST(Incoming, give__digests_that_differ_end_both_and_ask_for_an_abort) {
  Modules modules;
  modules.receive(modules.memory(10), 0, kPeer, 5);
  wire::Frame frame = message(modules.content(10));
  frame.kind = FrameKind::kMessageDigest;
  frame.digest = 6;
  EXPECT_EQ(arrive(modules, frame, 0), Taken::kYes);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kDigestMismatch);
  EXPECT_EQ(done[0].own_digest, 5U);
  EXPECT_EQ(done[0].peer_digest, 6U);
  ASSERT_EQ(modules.incoming.abort_requests().size(), 1U);
  const AbortRequest& abort = modules.incoming.abort_requests()[0];
  EXPECT_EQ(abort.communicator, kCommunicator.value);
  EXPECT_EQ(abort.code, Errc::kDigestMismatch);
  EXPECT_EQ(abort.reporter_rank, 7U);
  EXPECT_EQ(abort.other_rank, 3U);
  EXPECT_EQ(abort.reporter_digest, 5U);
  EXPECT_EQ(abort.other_digest, 6U);
}

TEST(Incoming, give__a_held_mismatch_frees_its_bytes_and_an_announced_one_tells) {
  Modules modules;
  wire::Frame frame = message(modules.content(600));
  frame.digest = 6;
  arrive(modules, frame, 0);
  frame = announcement(5'000, 9);
  frame.digest = 7;
  arrive(modules, frame, 1);
  modules.receive(modules.memory(600), 0, kPeer, 5);
  modules.receive(modules.memory(5'000), 0, kPeer, 5);
  EXPECT_EQ(modules.completions().size(), 2U);
  EXPECT_EQ(last_ending(modules).code, Errc::kDigestMismatch);
  EXPECT_EQ(modules.incoming.abort_requests().size(), 1U);  // one is enough
  modules.expect_idle();
}

TEST(Incoming, take_posted__with_and_without_digest_never_meet) {
  Modules modules;
  modules.receive(modules.memory(10), 0, kPeer, 5);
  arrive(modules, message(modules.content(10)), 0);
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.communicator().posted_count, 1U);
  EXPECT_EQ(modules.communicator().unexpected_count, 1U);
}

TEST(Incoming, hold__budget_of_the_peer_then_reserve_of_the_communicator) {
  Modules modules;
  modules.state.options.eager_budget_bytes = 1'000;
  modules.add_communicator(kOther);
  EXPECT_EQ(arrive(modules, message(modules.content(1'000)), 0), Taken::kYes);
  EXPECT_EQ(arrive(modules, message(modules.content(1)), 1), Taken::kYes);
  EXPECT_EQ(last_refusal(modules).code, Errc::kNotHeld);
  EXPECT_EQ(last_refusal(modules).number, 1U);
  EXPECT_EQ(last_refusal(modules).token, kNoSlot);
  EXPECT_EQ(modules.state.counters[Counter::kEagerNotHeld], 1U);
  EXPECT_EQ(modules.flow().incoming.look(1), NumberWindow::Seen::kFresh);
  wire::Frame reserved = message(modules.content(512));
  reserved.communicator = kOther.value;
  EXPECT_EQ(arrive(modules, reserved, 2), Taken::kYes);
  EXPECT_EQ(modules.communicator(kOther).held_bytes, 512U);
  reserved = message(modules.content(1));
  reserved.communicator = kOther.value;
  EXPECT_EQ(arrive(modules, reserved, 3), Taken::kYes);
  EXPECT_EQ(last_refusal(modules).number, 3U);
}

TEST(Incoming, hold__no_block_no_record_no_room) {
  Modules modules;
  const std::uint32_t blocks =
      modules.state.held.store(modules.content(modules.state.options.held_blocks_max * 512));
  EXPECT_EQ(arrive(modules, message(modules.content(1)), 0), Taken::kYes);
  EXPECT_EQ(last_refusal(modules).number, 0U);
  modules.state.held.free(blocks);
  modules.faults.full = true;
  EXPECT_EQ(arrive(modules, message(modules.content(1)), 2), Taken::kYes);
  EXPECT_EQ(last_refusal(modules).number, 2U);
  while (modules.state.refusals.acquire() != kNoSlot) {
  }
  EXPECT_EQ(arrive(modules, message(modules.content(1)), 4), Taken::kNoRoom);
}

// A late copy of what was refused is not taken: its sender knows, and waits for a grant.
TEST(Incoming, take__what_was_refused_comes_in_by_its_announcement_only) {
  Modules modules;
  modules.faults.full = true;
  const wire::Frame frame = message(modules.content(10));
  arrive(modules, frame, 0);
  EXPECT_EQ(modules.peer().refusal_count, 1U);
  modules.faults.full = false;
  EXPECT_EQ(arrive(modules, frame, 0), Taken::kYes);
  EXPECT_EQ(modules.peer().refusal_count, 1U);
  EXPECT_EQ(modules.communicator().unexpected_count, 0U);
  EXPECT_EQ(arrive(modules, announcement(10, 9), 0), Taken::kYes);
  EXPECT_EQ(modules.peer().refusal_count, 0U);
  EXPECT_EQ(modules.communicator().unexpected_count, 1U);
}

TEST(Incoming, take__waits_behind_a_missing_predecessor) {
  Modules modules;
  std::vector<MutableByteSpan> buffers;
  for (std::uint32_t i = 0; i < 4; ++i) {
    buffers.push_back(modules.memory(10));
    modules.receive(buffers.back());
  }
  // 3 waits for 2, 2 for 1, 1 for 0; they come backwards.
  for (std::uint64_t number = 3; number >= 1; --number) {
    EXPECT_EQ(arrive(modules, message(modules.content(10, 40 + number), 0, 1), number),
              Taken::kYes);
  }
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.peer().held_bytes, 30U);
  arrive(modules, message(modules.content(10, 40)), 0);
  EXPECT_EQ(modules.completions().size(), 4U);
  for (std::uint64_t number = 0; number < 4; ++number) {
    const auto data = test::bytes_of_seed(10, 40 + number);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), buffers[number].begin())) << number;
  }
  EXPECT_EQ(modules.peer().held_bytes, 0U);
  modules.expect_idle();
}

TEST(Incoming, take__waits_behind_one_that_is_parked_itself) {
  Modules modules;
  modules.receive(modules.memory(10));
  // 2 names no predecessor, as 1 had been taken for acknowledged; but 1 still waits for 0.
  arrive(modules, message(modules.content(10), 0, 1), 1);
  arrive(modules, message(modules.content(10), 0, 0), 2);
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.flow().parked.head, 0U);
  wire::Frame other = message(modules.content(10));
  other.communicator = kOther.value;
  modules.add_communicator(kOther);
  arrive(modules, other, 3);  // of another communicator: goes on
  EXPECT_EQ(modules.communicator(kOther).unexpected_count, 1U);
  arrive(modules, message(modules.content(10)), 0);
  EXPECT_TRUE(modules.flow().parked.empty());
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.communicator().unexpected_count, 2U);
}

TEST(Incoming, take__an_aborted_communicator_takes_nothing) {
  Modules modules;
  modules.communicator().aborted = true;
  EXPECT_EQ(arrive(modules, message(modules.content(10)), 0), Taken::kYes);
  EXPECT_EQ(arrive(modules, announcement(5'000, 9), 1), Taken::kYes);
  EXPECT_EQ(last_ending(modules).code, Errc::kAborted);
  EXPECT_EQ(modules.flow().incoming.floor(), 2U);
  while (modules.state.refusals.acquire() != kNoSlot) {
  }
  EXPECT_EQ(arrive(modules, announcement(5'000, 9), 2), Taken::kNoRoom);
  modules.expect_idle();
}

TEST(Incoming, take__tells_a_peer_again_that_was_told_of_the_abort) {
  Modules modules;
  Communicator& communicator = modules.communicator();
  communicator.aborted = true;
  EXPECT_EQ(arrive(modules, message(modules.content(10)), 0), Taken::kYes);
  EXPECT_FALSE(modules.peer().aborts_due);  // it is being told
  communicator.abort_sent[0] = 1;
  communicator.abort_told[0] = 1;
  EXPECT_EQ(arrive(modules, message(modules.content(10)), 1), Taken::kYes);
  EXPECT_TRUE(modules.peer().aborts_due);
  EXPECT_TRUE(modules.peer().in_control_ring);
  EXPECT_EQ(communicator.abort_sent[0], 0U);
  EXPECT_EQ(communicator.abort_told[0], 0U);
}

TEST(Incoming, on_announce__to_a_posted_receive_begins_the_transfer) {
  Modules modules;
  const std::uint32_t slot = modules.receive(modules.memory(5'000));
  EXPECT_EQ(arrive(modules, announcement(5'000, 9), 0), Taken::kYes);
  const ReceiveRecord& record = modules.state.receives[slot];
  EXPECT_EQ(record.state, ReceiveState::kIncoming);
  EXPECT_EQ(record.sender_token, 9U);
  EXPECT_EQ(record.message_bytes, 5'000U);
  EXPECT_EQ(modules.peer().grants.head, slot);
  EXPECT_EQ(modules.state.incoming_index.find(State::incoming_key(modules.flow_of(), 0)), slot);
}

TEST(Incoming, start__the_sender_of_an_empty_message_hears_that_it_is_taken) {
  for (const bool early : {false, true}) {
    Modules modules;
    if (!early) modules.receive({});
    ASSERT_EQ(arrive(modules, announcement(0, 5), 0), Taken::kYes);
    EXPECT_EQ(modules.peer().endings.empty(), early);
    if (early) modules.receive({});
    ASSERT_FALSE(modules.peer().endings.empty());
    EXPECT_EQ(last_ending(modules).code, Errc::kTaken);
    EXPECT_EQ(last_ending(modules).token, 5U);
    EXPECT_EQ(last_ending(modules).number, 0U);
    EXPECT_EQ(modules.completions().at(0).status, Errc::kOk);
    modules.expect_idle();
  }
}

TEST(Incoming, on_announce__waits_for_its_receive_and_holds_no_bytes) {
  Modules modules;
  EXPECT_EQ(arrive(modules, announcement(5'000, 9), 0), Taken::kYes);
  EXPECT_EQ(modules.peer().held_bytes, 0U);
  EXPECT_EQ(modules.state.incoming_index.size(), 1U);
  const std::uint32_t slot = modules.receive(modules.memory(6'000));
  EXPECT_EQ(modules.state.receives[slot].state, ReceiveState::kIncoming);
  EXPECT_EQ(modules.state.unexpected.used(), 0U);
  EXPECT_EQ(modules.state.incoming_index.size(), 1U);
}

TEST(Incoming, adopt_orphans__announcements_wait_for_their_communicator) {
  Modules modules;
  wire::Frame frame = announcement(5'000, 9);
  frame.communicator = kOther.value;
  EXPECT_EQ(arrive(modules, frame, 0), Taken::kYes);
  wire::Frame eager = message(modules.content(10));
  eager.communicator = kOther.value;
  EXPECT_EQ(arrive(modules, eager, 1), Taken::kYes);  // refused: nobody pays for its bytes
  EXPECT_EQ(last_refusal(modules).number, 1U);
  frame.communicator = 3;
  arrive(modules, frame, 2);
  Communicator& communicator = modules.add_communicator(kOther);
  modules.incoming.adopt_orphans(modules.now, communicator);
  EXPECT_EQ(communicator.unexpected_count, 1U);
  EXPECT_EQ(modules.state.orphans.head, modules.state.orphans.tail);
  modules.receive(modules.memory(5'000), 0, kPeer, 0, kOther);
  EXPECT_EQ(communicator.unexpected_count, 0U);
}

TEST(Incoming, release_parked__without_a_communicator_it_is_an_orphan) {
  Modules modules;
  wire::Frame frame = announcement(5'000, 9, 0, 1);
  frame.communicator = kOther.value;
  arrive(modules, frame, 1);
  EXPECT_TRUE(modules.state.orphans.empty());
  arrive(modules, message(modules.content(10)), 0);
  EXPECT_FALSE(modules.state.orphans.empty());
  EXPECT_TRUE(modules.flow().parked.empty());
}

TEST(Incoming, drop_unexpected__tells_announced_senders_only) {
  Modules modules;
  modules.add_communicator(kOther);
  arrive(modules, message(modules.content(10)), 0);
  arrive(modules, announcement(5'000, 9), 1);
  arrive(modules, message(modules.content(10), 0, 1), 3);  // parked
  wire::Frame other = message(modules.content(10));
  other.communicator = kOther.value;
  arrive(modules, other, 4);
  modules.incoming.drop_unexpected(modules.communicator(), Errc::kAborted);
  EXPECT_EQ(last_ending(modules).number, 1U);
  EXPECT_EQ(last_ending(modules).code, Errc::kAborted);
  EXPECT_EQ(modules.peer().endings.head, modules.peer().endings.tail);
  EXPECT_EQ(modules.communicator().unexpected_count, 0U);
  EXPECT_TRUE(modules.flow().parked.empty());
  EXPECT_EQ(modules.state.unexpected.used(), 1U);
  EXPECT_EQ(modules.peer().held_bytes, 10U);
}

TEST(Incoming, drop_unexpected_of__one_peer_wherever_it_waits) {
  Modules modules;
  const PeerId second = modules.add_peer(4);
  arrive(modules, message(modules.content(10)), 0);
  arrive(modules, message(modules.content(10), 0, 1), 3);
  wire::Frame orphan = announcement(5'000, 9);
  orphan.communicator = kOther.value;
  arrive(modules, orphan, 4);
  arrive(modules, message(modules.content(10)), 0, second);
  modules.incoming.drop_unexpected_of(kPeer);
  EXPECT_EQ(modules.state.unexpected.used(), 1U);
  EXPECT_EQ(modules.communicator().unexpected_count, 1U);
  EXPECT_TRUE(modules.state.orphans.empty());
  EXPECT_TRUE(modules.peer().endings.empty());
}

TEST(Incoming, end__posted_leaves_its_bucket) {
  Modules modules;
  const std::uint32_t slot = modules.receive(modules.memory(10));
  EXPECT_TRUE(modules.incoming.end(modules.now, slot, Errc::kCancelled));
  EXPECT_EQ(modules.completions().at(0).status, Errc::kCancelled);
  EXPECT_TRUE(modules.incoming.end(modules.now, slot, Errc::kCancelled));  // no-op
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.communicator().posted_count, 0U);
  modules.expect_idle();
}

TEST(Incoming, end__incoming_tells_its_sender_or_waits_for_room) {
  Modules modules;
  const std::uint32_t slot = modules.receive(modules.memory(5'000));
  arrive(modules, announcement(5'000, 9), 0);
  std::vector<std::uint32_t> used;
  for (;;) {
    const std::uint32_t refusal = modules.state.refusals.acquire();
    if (refusal == kNoSlot) break;
    used.push_back(refusal);
  }
  EXPECT_FALSE(modules.incoming.end(modules.now, slot, Errc::kDeadlineExceeded));
  EXPECT_TRUE(modules.completions().empty());
  modules.state.refusals.release(used.back());
  EXPECT_TRUE(modules.incoming.end(modules.now, slot, Errc::kDeadlineExceeded));
  EXPECT_EQ(modules.completions().at(0).status, Errc::kDeadlineExceeded);
  EXPECT_EQ(last_ending(modules).code, Errc::kPeerCancelled);
  modules.expect_idle();
}

TEST(Incoming, on_cancel__in_each_state) {
  Modules modules;
  arrive(modules, announcement(5'000, 9, 1), 0);
  modules.incoming.on_cancel(modules.now, modules.flow_of(), 0, Errc::kCancelled);
  EXPECT_EQ(modules.state.unexpected.used(), 0U);
  modules.receive(modules.memory(5'000));
  arrive(modules, announcement(5'000, 9), 1);
  modules.incoming.on_cancel(modules.now, modules.flow_of(), 1, Errc::kDeadlineExceeded);
  EXPECT_EQ(modules.completions().at(0).status, Errc::kPeerCancelled);
  modules.incoming.on_cancel(modules.now, modules.flow_of(), 1, Errc::kCancelled);  // a copy
  modules.receive(modules.memory(10));
  arrive(modules, message(modules.content(10), 0, 1), 3);
  EXPECT_TRUE(modules.completions().empty());
  modules.incoming.on_cancel(modules.now, modules.flow_of(), 2, Errc::kCancelled);  // never came
  EXPECT_EQ(modules.completions().size(), 1U);  // and 3 waits no more
  EXPECT_EQ(modules.flow().incoming.floor(), 4U);
  modules.incoming.on_cancel(modules.now, modules.flow_of(), 4 + NumberWindow::kWindow,
                             Errc::kCancelled);  // beyond the window
  EXPECT_EQ(modules.flow().incoming.floor(), 4U);
  modules.expect_idle();
}

}  // namespace
}  // namespace zhinu::core

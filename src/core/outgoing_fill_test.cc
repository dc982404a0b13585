// What a flow puts into packets: outgoing_fill.cc.
#include <gtest/gtest.h>

#include <vector>

#include "core/modules_fixture_test.h"
#include "core/outgoing.h"

namespace zhinu::core {
namespace {

using test::Filled;
using test::kCommunicator;
using test::kOther;
using test::kPacketBytes;
using test::Modules;
using test::refusal_of;
using test::small_options;
using wire::FrameKind;

constexpr PeerId kPeer = Modules::kPeer;
constexpr std::uint32_t kOverhead = 36;  // header and tag

using Kinds = std::vector<FrameKind>;
using Numbers = std::vector<std::uint64_t>;

WriteArgs write_args(Modules& modules, std::size_t size) {
  WriteArgs args;
  args.peer = kPeer;
  args.traffic_class = TrafficClass::kGradient;
  args.communicator = kCommunicator;
  args.data = modules.content(size);
  args.region = {77};
  args.offset = 128;
  args.immediate = 5;
  return args;
}

TEST(Outgoing, fill__a_small_message_as_one_frame) {
  Modules modules;
  SendArgs args;
  args.peer = kPeer;
  args.communicator = kCommunicator;
  args.tag = 9;
  args.data = modules.content(100);
  const std::uint32_t slot = modules.post(args);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.frames.size(), 1U);
  const wire::Frame& frame = packet.frames[0];
  EXPECT_EQ(frame.kind, FrameKind::kMessage);
  EXPECT_EQ(frame.communicator, kCommunicator.value);
  EXPECT_EQ(frame.tag, 9U);
  EXPECT_EQ(frame.number, 0U);
  EXPECT_EQ(frame.order, 0U);
  EXPECT_EQ(frame.length, 100U);
  EXPECT_EQ(frame.payload, args.data.data());
  EXPECT_EQ(packet.bytes, kOverhead + 12 + 100);
  const SentPacket& sent = modules.state.sent_packets[packet.sent];
  ASSERT_EQ(sent.item_count, 1U);
  EXPECT_EQ(sent.items[0].kind, SentKind::kMessages);
  EXPECT_EQ(sent.items[0].slot, slot);
  EXPECT_EQ(sent.items[0].length, 1U);
  EXPECT_FALSE(modules.channel().in_ring);
  EXPECT_EQ(modules.channel().deficit_bytes, 0U);
}

TEST(Outgoing, fill__a_digest_has_a_frame_kind_of_its_own) {
  Modules modules;
  SendArgs args;
  args.peer = kPeer;
  args.communicator = kCommunicator;
  args.digest = 0xabcdef;
  modules.post(args);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(), Kinds{FrameKind::kMessageDigest});
  EXPECT_EQ(packet.frames[0].digest, 0xabcdefU);
  EXPECT_EQ(packet.frames[0].length, 0U);
}

TEST(Outgoing, fill__small_messages_share_packet_and_item) {
  Modules modules;
  for (std::uint32_t tag = 0; tag < 5; ++tag) modules.send(20, kCommunicator, tag);
  const Filled packet = modules.fill();
  EXPECT_EQ(packet.numbers(), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(modules.state.sent_packets[packet.sent].item_count, 1U);
  EXPECT_EQ(modules.state.sent_packets[packet.sent].items[0].length, 5U);
  modules.ack(packet);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 5U);
  for (std::uint32_t tag = 0; tag < 5; ++tag) EXPECT_EQ(done[tag].user, 100U + tag);
  EXPECT_EQ(modules.state.counters[Counter::kMessagesSent], 5U);
  EXPECT_EQ(modules.flow().outgoing.floor(), 5U);
  modules.expect_idle();
}

TEST(Outgoing, fill__write_and_read_request_frames) {
  Modules modules;
  WriteArgs args = write_args(modules, 50);
  args.notify = true;
  args.ordered = true;
  modules.outgoing.post_write(args);
  modules.outgoing.post_write(args);
  ReadArgs read;
  read.peer = kPeer;
  read.traffic_class = TrafficClass::kGradient;
  read.communicator = kCommunicator;
  read.buffer = modules.memory(70'000);
  read.region = {78};
  read.offset = 384;
  const std::uint32_t reader = modules.incoming.post_read(read);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(), (Kinds{FrameKind::kPut, FrameKind::kPut, FrameKind::kRead}));
  EXPECT_EQ(packet.frames[0].flags, wire::kFlagNotify | wire::kFlagOrdered);
  EXPECT_EQ(packet.frames[0].tag, 5U);
  EXPECT_EQ(packet.frames[0].region_key, 77U);
  EXPECT_EQ(packet.frames[0].offset, 128U);
  EXPECT_EQ(packet.frames[0].digest, 0U);  // no ordered write before it
  EXPECT_EQ(packet.frames[1].digest, 1U);  // the one before it
  EXPECT_EQ(packet.frames[1].order, 0U);
  EXPECT_EQ(packet.frames[2].token, reader);
  EXPECT_EQ(packet.frames[2].region_key, 78U);
  EXPECT_EQ(packet.frames[2].offset, 384U);
  EXPECT_EQ(packet.frames[2].length, 70'000U);
  EXPECT_EQ(modules.state.receives[reader].number, 2U);
  EXPECT_TRUE(modules.state.receives[reader].read_number_known);
}

TEST(Outgoing, fill__a_write_is_behind_the_ordered_one_of_its_communicator) {
  Modules modules;
  modules.add_communicator(kOther);
  WriteArgs args = write_args(modules, 50);
  args.notify = true;
  args.ordered = true;
  modules.outgoing.post_write(args);
  args.communicator = kOther;
  modules.outgoing.post_write(args);
  Filled packet = modules.fill();
  ASSERT_EQ(packet.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(packet.frames[0].digest, 0U);
  EXPECT_EQ(packet.frames[1].digest, 0U);
  args.communicator = kCommunicator;
  modules.outgoing.post_write(args);
  packet = modules.fill();
  ASSERT_EQ(packet.numbers(), (Numbers{2}));
  EXPECT_EQ(packet.frames[0].digest, 2U);
}

TEST(Outgoing, fill__a_long_write_and_a_long_answer_are_announced) {
  Modules modules;
  const std::uint32_t write = modules.outgoing.post_write(write_args(modules, 5'000));
  ASSERT_TRUE(modules.outgoing.post_read_answer(
      {modules.flow_of(), kCommunicator.value, modules.content(6'000), 77, 13, 40}));
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(), (Kinds{FrameKind::kWrite, FrameKind::kReadAnnounce}));
  EXPECT_EQ(packet.frames[0].token, write);
  EXPECT_EQ(packet.frames[0].length, 5'000U);
  EXPECT_EQ(packet.frames[1].peer_token, 13U);
  EXPECT_EQ(packet.frames[1].offset, 40U);
  EXPECT_EQ(packet.frames[1].length, 6'000U);
  EXPECT_EQ(packet.frames[1].code, Errc::kOk);
}

TEST(Outgoing, fill__a_small_answer_goes_whole) {
  Modules modules;
  ASSERT_TRUE(modules.outgoing.post_read_answer(
      {modules.flow_of(), kCommunicator.value, modules.content(60), 77, 13, 40}));
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(), Kinds{FrameKind::kReadData});
  EXPECT_EQ(packet.frames[0].token, 13U);
  EXPECT_EQ(packet.frames[0].offset, 40U);
}

TEST(Outgoing, fill__eager_up_to_the_limit_of_the_session) {
  Modules modules;
  modules.send(1'024);
  modules.send(1'025);
  const Filled packet = modules.fill();
  EXPECT_EQ(packet.kinds(), (Kinds{FrameKind::kMessage, FrameKind::kAnnounce}));
}

TEST(Outgoing, fill__eager_only_if_it_fits_an_empty_packet) {
  Modules modules;
  modules.send(500 - kOverhead - 12);
  modules.send(500 - kOverhead - 12 + 1);
  EXPECT_EQ(modules.fill(500).kinds(), Kinds{FrameKind::kMessage});
  EXPECT_EQ(modules.fill(500).kinds(), Kinds{FrameKind::kAnnounce});
}

TEST(Outgoing, fill__what_does_not_fit_goes_with_the_next_packet) {
  Modules modules;
  for (std::uint32_t tag = 0; tag < 3; ++tag) modules.send(400, kCommunicator, tag);
  EXPECT_EQ(modules.fill(1'000).numbers(), (Numbers{0, 1}));
  EXPECT_TRUE(modules.channel().in_ring);
  EXPECT_EQ(modules.fill(1'000).numbers(), Numbers{2});
}

TEST(Outgoing, fill__an_announcement_that_does_not_fit_waits) {
  Modules modules;
  modules.send(1'000 - kOverhead - 12 - 23);
  modules.send(5'000);
  EXPECT_EQ(modules.fill(1'000).numbers(), Numbers{0});
  EXPECT_EQ(modules.channel().announced, 0U);
  EXPECT_EQ(modules.fill(1'000).kinds().front(), FrameKind::kAnnounce);
}

TEST(Outgoing, fill__a_full_packet_of_frames) {
  EndpointOptions options = small_options();
  options.sends_max = 200;
  Modules modules(options);
  for (std::uint32_t tag = 0; tag < 130; ++tag) modules.send(0, kCommunicator, tag);
  EXPECT_EQ(modules.fill().frames.size(), wire::kFramesMax);
  EXPECT_EQ(modules.fill().frames.size(), 2U);
}

TEST(Outgoing, fill__short_send_closes_after_one_message) {
  Modules modules;
  modules.send(10);
  modules.send(10);
  modules.faults.shorten = true;
  EXPECT_EQ(modules.fill().numbers(), Numbers{0});
  EXPECT_EQ(modules.fill().numbers(), Numbers{1});
}

TEST(Outgoing, fill__channels_take_turns_by_bytes) {
  EndpointOptions options = small_options();
  options.sends_max = 128;
  Modules modules(options);
  for (std::uint32_t tag = 0; tag < 30; ++tag) modules.send(1'000, kCommunicator, tag);
  for (std::uint32_t tag = 0; tag < 30; ++tag) modules.send(300, kOther, 50 + tag);
  std::vector<std::uint16_t> turns;
  std::vector<std::uint32_t> bytes;
  for (;;) {
    const Filled packet = modules.fill(1'200);
    if (packet.frames.empty()) break;
    for (const wire::Frame& frame : packet.frames) {
      if (turns.empty() || turns.back() != frame.communicator) {
        turns.push_back(frame.communicator);
        bytes.push_back(0);
      }
      bytes.back() += 12 + static_cast<std::uint32_t>(frame.length);
    }
    modules.ack(packet);
  }
  // A turn is 9,216 bytes; what it left over is added to the next.
  EXPECT_EQ(turns, (std::vector<std::uint16_t>{1, 2, 1, 2, 1}));
  EXPECT_EQ(bytes, (std::vector<std::uint32_t>{9 * 1'012, 29 * 312, 9 * 1'012, 312, 12 * 1'012}));
}

TEST(Outgoing, fill__order_is_the_distance_to_the_communicators_last_open_message) {
  Modules modules;
  modules.send(10);
  modules.send(10, kOther);
  modules.send(10);
  Filled packet = modules.fill();
  ASSERT_EQ(packet.frames.size(), 3U);
  EXPECT_EQ(packet.frames[0].communicator, 1U);
  EXPECT_EQ(packet.frames[1].communicator, 1U);
  EXPECT_EQ(packet.frames[1].order, 1U);
  EXPECT_EQ(packet.frames[2].communicator, 2U);
  EXPECT_EQ(packet.frames[2].order, 0U);
  modules.ack(packet);
  modules.send(10);
  packet = modules.fill();
  EXPECT_EQ(packet.frames[0].order, 0U);  // the last one was taken
}

// A number that was seen may be void, and then says nothing of those before it.
TEST(Outgoing, fill__order_names_a_message_that_was_given_up_while_others_before_it_may_come) {
  Modules modules;
  modules.send(10);
  const Filled lost = modules.fill();
  const std::uint32_t given_up = modules.send(5'000);
  modules.ack(modules.fill());
  modules.outgoing.end(given_up, Errc::kCancelled);
  modules.outgoing.on_cancel_acked(given_up);
  modules.send(10);
  Filled packet = modules.fill();
  EXPECT_EQ(packet.numbers(), Numbers{2});
  EXPECT_EQ(packet.frames[0].order, 1U);
  modules.ack(packet);
  modules.ack(lost);
  modules.send(10);
  EXPECT_EQ(modules.fill().frames[0].order, 0U);  // all before it were taken or are void
}

TEST(Outgoing, fill__order_of_a_far_predecessor_is_255) {
  Modules modules;
  modules.send(10);
  modules.fill();  // under way
  modules.flow().next_number = 254;
  modules.send(10);
  EXPECT_EQ(modules.fill().frames[0].order, 254U);
  modules.flow().next_number = 254 + 255;
  modules.send(10);
  EXPECT_EQ(modules.fill().frames[0].order, 255U);
  modules.flow().next_number = 254 + 255 + 256;
  modules.send(10);
  EXPECT_EQ(modules.fill().frames[0].order, 255U);
}

TEST(Outgoing, fill__numbers_of_one_packet_lie_within_the_delta) {
  Modules modules;
  modules.send(10);
  modules.fill();
  modules.flow().next_number = 10;
  modules.send(10);
  const Filled ten = modules.fill();
  modules.flow().next_number = 10 + wire::kMessageDeltaMax;
  modules.send(10);
  modules.send(10);
  // A repeated message 10 gives the base; the last new one is one too far.
  modules.lose(ten);
  EXPECT_EQ(modules.fill().numbers(), (Numbers{10, 265}));
  EXPECT_EQ(modules.fill().numbers(), Numbers{266});
}

TEST(Outgoing, fill__the_window_of_numbers_blocks_the_flow) {
  Modules modules;
  modules.flow().next_number = NumberWindow::kWindow - 1;
  modules.send(10);
  modules.send(10);
  const Filled last = modules.fill();
  EXPECT_EQ(last.numbers(), Numbers{NumberWindow::kWindow - 1});
  EXPECT_TRUE(modules.fill().frames.empty());
  EXPECT_TRUE(modules.channel().in_ring);
  modules.flow().outgoing.mark(0);
  EXPECT_EQ(modules.fill().numbers(), Numbers{NumberWindow::kWindow});
}

TEST(Outgoing, fill__a_blocked_window_of_numbers_lets_granted_data_go) {
  Modules modules;
  modules.granted(5'000);
  modules.flow().next_number = NumberWindow::kWindow + 1;
  modules.send(10);
  EXPECT_EQ(modules.fill().kinds(), Kinds{FrameKind::kSegment});
}

TEST(Outgoing, fill__as_many_announcements_as_the_receiver_remembers) {
  Modules modules;
  const std::uint32_t first = modules.send(5'000);
  for (int i = 0; i < 2; ++i) modules.send(5'000);
  modules.send(10);
  const Filled packet = modules.fill();
  EXPECT_EQ(packet.kinds(), (Kinds{FrameKind::kAnnounce, FrameKind::kAnnounce}));
  EXPECT_EQ(modules.channel().announced, 2U);
  EXPECT_FALSE(modules.channel().in_ring);  // blocked: nothing to try until a grant
  EXPECT_FALSE(modules.outgoing.sendable(modules.flow()));
  modules.ack(packet);
  modules.outgoing.on_grant(modules.flow_of(), first, 0, 128);
  EXPECT_TRUE(modules.channel().in_ring);
  EXPECT_EQ(modules.fill().kinds(), (Kinds{FrameKind::kAnnounce, FrameKind::kMessage}));
}

TEST(Outgoing, fill__a_blocked_channel_gathers_no_turns) {
  Modules modules;
  std::vector<std::uint32_t> slots;
  for (int i = 0; i < 8; ++i) slots.push_back(modules.send(5'000));
  modules.ack(modules.fill());
  for (std::uint32_t i = 0; i < 4; ++i) {
    modules.outgoing.on_refused(modules.flow_of(), slots[i], i, Errc::kTruncated);
    EXPECT_EQ(modules.channel().deficit_bytes, 9'216U);
    modules.ack(modules.fill());
  }
}

TEST(Outgoing, fill__another_channel_goes_on_past_a_blocked_one) {
  Modules modules;
  for (int i = 0; i < 3; ++i) modules.send(5'000);
  modules.send(10, kOther);
  EXPECT_EQ(modules.fill().kinds(),
            (Kinds{FrameKind::kAnnounce, FrameKind::kAnnounce, FrameKind::kMessage}));
}

TEST(Outgoing, fill__credit_lets_the_first_bytes_follow_the_announcement) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  modules.send(5'000);
  modules.send(5'000);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(),
            (Kinds{FrameKind::kAnnounce, FrameKind::kAnnounce, FrameKind::kSegment}));
  EXPECT_EQ(packet.frames[2].number, 0U);
  EXPECT_EQ(packet.frames[2].offset, 0U);
  EXPECT_EQ(packet.frames[2].length, 2'048U);
  EXPECT_TRUE(modules.fill().frames.empty());  // the second one has no credit
}

TEST(Outgoing, fill__unscheduled_bytes_are_whole_units_or_the_whole_message) {
  EndpointOptions options = small_options();
  options.unscheduled_bytes = 2'000;
  Modules modules(options);
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 2);
  modules.send(5'000);
  modules.send(1'999);
  modules.fill();
  modules.fill();
  EXPECT_EQ(modules.state.sends[0].granted, 1'920U);
  EXPECT_EQ(modules.state.sends[1].granted, 1'999U);
}

TEST(Outgoing, fill__no_unscheduled_bytes_in_a_closed_channel) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 5);
  modules.send(0);
  modules.fill();
  modules.channel().closed = true;
  modules.send(5'000);
  EXPECT_EQ(modules.fill().kinds(), Kinds{FrameKind::kAnnounce});
}

TEST(Outgoing, fill__a_write_has_no_credit) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 5);
  modules.outgoing.post_write(write_args(modules, 5'000));
  EXPECT_EQ(modules.fill().kinds(), Kinds{FrameKind::kWrite});
}

TEST(Outgoing, fill__granted_data_in_segments_of_whole_units) {
  Modules modules;
  const std::uint32_t slot = modules.granted(5'000);
  const Filled first = modules.fill();
  ASSERT_EQ(first.kinds(), Kinds{FrameKind::kSegment});
  EXPECT_EQ(first.frames[0].length, 3'968U);  // of 4,096 less 48
  EXPECT_EQ(first.frames[0].offset, 0U);
  const Filled second = modules.fill();
  ASSERT_EQ(second.kinds(), Kinds{FrameKind::kSegment});
  EXPECT_EQ(second.frames[0].offset, 3'968U);
  EXPECT_EQ(second.frames[0].length, 1'032U);
  EXPECT_EQ(second.frames[0].payload, first.frames[0].payload + 3'968);
  EXPECT_TRUE(modules.flow().bulk.empty());
  EXPECT_FALSE(modules.state.sends[slot].in_bulk);
  modules.ack(second);
  EXPECT_TRUE(modules.completions().empty());
  modules.ack(first);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, fill__bulk_messages_take_turns_by_trains) {
  EndpointOptions options = small_options();
  options.train_bytes = 4'096;
  Modules modules(options);
  modules.granted(12'000);
  modules.granted(12'000, kOther);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 6; ++i) numbers.push_back(modules.fill(2'048 + 48).frames[0].number);
  EXPECT_EQ(numbers, (Numbers{0, 0, 1, 1, 0, 0}));
}

TEST(Outgoing, fill__a_sliver_waits_for_the_next_packet) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 9);
  modules.send(1'000);
  modules.send(1'000);
  modules.send(5'000);  // announced behind them, with 2,048 bytes under credit
  const Filled packet = modules.fill();
  EXPECT_EQ(packet.kinds(),
            (Kinds{FrameKind::kMessage, FrameKind::kMessage, FrameKind::kAnnounce}));
}

TEST(Outgoing, fill__the_end_of_what_is_granted_is_no_sliver) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 9);
  modules.send(1'000);
  modules.send(1'000);
  modules.send(1'200);
  const Filled packet = modules.fill();
  EXPECT_EQ(packet.kinds(), Kinds({FrameKind::kMessage, FrameKind::kMessage, FrameKind::kAnnounce,
                                   FrameKind::kSegment}));
}

TEST(Outgoing, fill__waiting_bulk_gets_every_fifth_packet) {
  EndpointOptions options = small_options();
  options.sends_max = 64;
  Modules modules(options);
  modules.granted(60'000);
  for (std::uint32_t tag = 0; tag < 30; ++tag) modules.send(1'000, kOther, tag);
  std::vector<FrameKind> kinds;
  for (int i = 0; i < 11; ++i) kinds.push_back(modules.fill(1'200).frames.at(0).kind);
  const FrameKind small = FrameKind::kMessage;
  const FrameKind bulk = FrameKind::kSegment;
  EXPECT_EQ(kinds,
            (Kinds{small, small, small, small, bulk, small, small, small, small, bulk, small}));
}

}  // namespace
}  // namespace zhinu::core

// Writes and reads of our regions, answers to our reads: incoming_one_sided.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/incoming.h"
#include "core/modules_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Filled;
using test::kCommunicator;
using test::Modules;
using wire::FrameKind;

// Modules with one region of 8 KiB that peers may read and write.
class OneSided : public testing::Test, protected Modules {
 protected:
  OneSided() : region_(memory(8'192)) {
    test::SeededEntropy entropy(9);
    const auto added =
        state.regions.add(region_, {.remote_read = true, .remote_write = true}, entropy);
    EXPECT_TRUE(added.ok());
    key_ = added.value();
  }

  wire::Frame frame_of(FrameKind kind, std::uint64_t offset, std::uint64_t length,
                       std::uint32_t token = 9) const {
    wire::Frame frame;
    frame.kind = kind;
    frame.communicator = kCommunicator.value;
    frame.region_key = key_.value;
    frame.offset = offset;
    frame.length = length;
    frame.token = token;
    return frame;
  }
  static wire::Frame numbered(wire::Frame frame, std::uint64_t number) {
    frame.number = number;
    return frame;
  }
  wire::Frame put(ByteSpan data, std::uint64_t offset, bool notify = false) const {
    wire::Frame frame = frame_of(FrameKind::kPut, offset, data.size());
    frame.payload = data.data();
    frame.flags = notify ? wire::kFlagNotify : 0;
    frame.tag = 55;
    return frame;
  }
  std::uint32_t read(std::size_t size) {
    ReadArgs args;
    args.peer = kPeer;
    args.traffic_class = TrafficClass::kGradient;
    args.communicator = kCommunicator;
    buffer_ = memory(size);
    args.buffer = buffer_;
    args.region = {77};
    const std::uint32_t slot = incoming.post_read(args);
    request_ = fill();
    return slot;
  }
  // The whole answer to read `slot`, whose request had number 0.
  wire::Frame answer(std::uint32_t slot, ByteSpan data) const {
    wire::Frame frame;
    frame.kind = FrameKind::kReadData;
    frame.token = slot;
    frame.length = data.size();
    frame.payload = data.data();
    return frame;
  }
  wire::Frame announced_answer(std::uint32_t slot, std::uint64_t length) const {
    wire::Frame frame;
    frame.kind = FrameKind::kReadAnnounce;
    frame.token = 9;
    frame.peer_token = slot;
    frame.length = length;
    return frame;
  }
  const Refusal& refusal() { return state.refusals[peer().refusals.tail]; }
  const Refusal& ending() { return state.refusals[peer().endings.tail]; }
  void use_all_refusals() {
    while (state.refusals.acquire() != kNoSlot) {
    }
  }

  MutableByteSpan region_;
  MutableByteSpan buffer_;
  RegionKey key_;
  Filled request_;
};

TEST_F(OneSided, on_put__lies_in_the_region) {
  const ByteSpan data = content(100);
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(data, 300), 0)), Taken::kYes);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), region_.begin() + 300));
  EXPECT_EQ(flow().incoming.floor(), 1U);
  Event event;
  EXPECT_FALSE(state.poll_event(event));
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(data, 300), 0)), Taken::kDuplicate);
  expect_idle();
}

TEST_F(OneSided, on_put__notifies_with_the_immediate) {
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 300, true), 0)),
            Taken::kYes);
  Event event;
  ASSERT_TRUE(state.poll_event(event));
  EXPECT_EQ(event.kind, EventKind::kNotification);
  EXPECT_EQ(event.peer, kPeer);
  EXPECT_EQ(event.immediate, 55U);
  EXPECT_EQ(event.region, key_);
  EXPECT_EQ(event.offset, 300U);
  EXPECT_EQ(event.bytes, 100U);
  expect_idle();
}

TEST_F(OneSided, on_put__an_outsider_changes_nothing_and_is_refused_each_time) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 8'100), 0)), Taken::kYes);
  }
  EXPECT_EQ(refusal().code, Errc::kRegionRefused);
  EXPECT_EQ(refusal().token, kNoSlot);
  EXPECT_EQ(flow().incoming.look(0), NumberWindow::Seen::kFresh);
  EXPECT_TRUE(std::all_of(region_.begin(), region_.end(),
                          [](std::byte each) { return each == std::byte{0}; }));
  use_all_refusals();
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 8'100), 2)), Taken::kNoRoom);
  incoming.on_cancel(now, flow_of(), 0, Errc::kRegionRefused);
  EXPECT_EQ(flow().incoming.floor(), 1U);
  EXPECT_EQ(peer().refusal_count, 0U);
}

TEST_F(OneSided, on_put__without_a_record_for_the_notification_it_is_not_held) {
  while (state.acquire_receive(true) != kNoSlot) {
  }
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 0, true), 0)), Taken::kYes);
  EXPECT_EQ(refusal().code, Errc::kNotHeld);
  EXPECT_EQ(region_[0], std::byte{0});
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 0), 1)), Taken::kYes);
  EXPECT_EQ(flow().incoming.look(1), NumberWindow::Seen::kSeen);
}

// What the user posted and the peer does not send cannot keep the peer's writes and reads out.
TEST_F(OneSided, on_all__posts_that_wait_leave_room) {
  while (state.acquire_receive() != kNoSlot) {
  }
  while (state.acquire_send() != kNoSlot) {
  }
  EXPECT_EQ(incoming.on_put(now, flow_of(), numbered(put(content(100), 0, true), 0)), Taken::kYes);
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame_of(FrameKind::kWrite, 256, 5'000), 1)),
            Taken::kYes);
  EXPECT_EQ(incoming.on_read(now, flow_of(), numbered(frame_of(FrameKind::kRead, 0, 100), 2)),
            Taken::kYes);
  EXPECT_EQ(peer().refusal_count, 0U);
  EXPECT_EQ(flow().incoming.floor(), 3U);
}

TEST_F(OneSided, on_write__begins_a_transfer_into_the_region) {
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame_of(FrameKind::kWrite, 256, 5'000), 0)),
            Taken::kYes);
  const std::uint32_t slot = state.incoming_index.find(State::incoming_key(flow_of(), 0));
  ASSERT_NE(slot, kNoSlot);
  const ReceiveRecord& record = state.receives[slot];
  EXPECT_EQ(record.kind, ReceiveKind::kIncomingWrite);
  EXPECT_EQ(record.state, ReceiveState::kIncoming);
  EXPECT_EQ(record.buffer, region_.data() + 256);
  EXPECT_EQ(record.sender_token, 9U);
  EXPECT_FALSE(record.has_user);
  EXPECT_EQ(peer().grants.head, slot);
}

TEST_F(OneSided, on_write__refused_region_or_full_pool) {
  wire::Frame frame = frame_of(FrameKind::kWrite, 8'000, 5'000);
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 0)), Taken::kYes);
  EXPECT_EQ(ending().code, Errc::kRegionRefused);
  EXPECT_EQ(ending().token, 9U);
  EXPECT_EQ(flow().incoming.floor(), 1U);
  while (state.acquire_receive(true) != kNoSlot) {
  }
  frame = frame_of(FrameKind::kWrite, 0, 5'000);
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 1)), Taken::kYes);
  EXPECT_EQ(refusal().code, Errc::kNotHeld);
  EXPECT_EQ(flow().incoming.floor(), 1U);
  use_all_refusals();
  frame = frame_of(FrameKind::kWrite, 8'000, 5'000);
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 2)), Taken::kNoRoom);
}

// What it was itself behind, those behind it must wait for.
TEST_F(OneSided, on_write__a_refused_or_revoked_ordered_one_is_void) {
  wire::Frame frame = frame_of(FrameKind::kWrite, 8'000, 5'000);
  frame.flags = wire::kFlagNotify;
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 3)), Taken::kYes);
  EXPECT_EQ(flow().void_end, 0U);
  frame.flags = wire::kFlagNotify | wire::kFlagOrdered;
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 5)), Taken::kYes);
  EXPECT_EQ(flow().void_end, 6U);
  frame.offset = 0;
  EXPECT_EQ(incoming.on_write(now, flow_of(), numbered(frame, 8)), Taken::kYes);
  EXPECT_EQ(flow().void_end, 6U);
  transfers.revoke(now, state.incoming_index.find(State::incoming_key(flow_of(), 8)));
  EXPECT_EQ(flow().void_end, 9U);
}

TEST_F(OneSided, on_read__posts_the_answer) {
  EXPECT_EQ(incoming.on_read(now, flow_of(), numbered(frame_of(FrameKind::kRead, 256, 60, 13), 0)),
            Taken::kYes);
  const Filled packet = fill();
  ASSERT_EQ(packet.frames.size(), 1U);
  EXPECT_EQ(packet.frames[0].kind, FrameKind::kReadData);
  EXPECT_EQ(packet.frames[0].token, 13U);
  EXPECT_EQ(packet.frames[0].offset, 0U);
  EXPECT_EQ(packet.frames[0].payload, region_.data() + 256);
  ack(packet);
  EXPECT_EQ(incoming.on_read(now, flow_of(), numbered(frame_of(FrameKind::kRead, 256, 60, 13), 0)),
            Taken::kDuplicate);
  expect_idle();
}

TEST_F(OneSided, on_read__refused_region_or_full_pool) {
  EXPECT_EQ(incoming.on_read(now, flow_of(), numbered(frame_of(FrameKind::kRead, 8'192, 1), 0)),
            Taken::kYes);
  EXPECT_EQ(refusal().code, Errc::kRegionRefused);
  while (state.acquire_send(true) != kNoSlot) {
  }
  EXPECT_EQ(incoming.on_read(now, flow_of(), numbered(frame_of(FrameKind::kRead, 0, 1), 1)),
            Taken::kYes);
  EXPECT_EQ(refusal().code, Errc::kNotHeld);
  EXPECT_EQ(flow().incoming.floor(), 0U);
}

TEST_F(OneSided, on_read_data__ends_the_read) {
  const std::uint32_t slot = read(50);
  const ByteSpan data = content(50);
  EXPECT_EQ(incoming.on_read_data(now, flow_of(), numbered(answer(slot, data), 0)), Taken::kYes);
  const auto done = completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kOk);
  EXPECT_EQ(done[0].kind, OperationKind::kRead);
  EXPECT_EQ(done[0].bytes, 50U);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), buffer_.begin()));
  ack(request_);  // late: the answer came before
  EXPECT_TRUE(completions().empty());
  expect_idle();
}

TEST_F(OneSided, on_read_data__of_another_read_changes_nothing) {
  const std::uint32_t slot = read(50);
  wire::Frame frame = answer(slot, content(50));
  frame.offset = 1;  // number of another request
  incoming.on_read_data(now, flow_of(), numbered(frame, 0));
  incoming.on_read_data(now, flow_of(), numbered(answer(slot, content(49)), 1));
  incoming.on_read_data(now, flow_of(), numbered(answer(slot + 1, content(50)), 2));
  incoming.on_read_data(now, flow_of(),
                        numbered(answer(state.receives.capacity(), content(50)), 3));
  const FlowId weights = flow_id(kPeer, TrafficClass::kWeights);
  incoming.on_read_data(now, weights, numbered(answer(slot, content(50)), 0));
  EXPECT_EQ(state.counters[Counter::kLateSegments], 5U);
  EXPECT_EQ(flow().incoming.floor(), 4U);
  EXPECT_TRUE(completions().empty());
  EXPECT_EQ(state.receives[slot].state, ReceiveState::kWaiting);
}

TEST_F(OneSided, on_read_announce__begins_the_transfer) {
  const std::uint32_t slot = read(5'000);
  EXPECT_EQ(incoming.on_read_announce(now, flow_of(), numbered(announced_answer(slot, 5'000), 0)),
            Taken::kYes);
  EXPECT_EQ(state.receives[slot].state, ReceiveState::kIncoming);
  EXPECT_EQ(state.receives[slot].request_slot, kNoSlot);
  EXPECT_EQ(peer().grants.head, slot);
}

TEST_F(OneSided, on_read_announce__a_failed_answer_ends_the_read) {
  const std::uint32_t slot = read(5'000);
  wire::Frame frame = announced_answer(slot, 0);
  frame.code = Errc::kRegionRefused;
  EXPECT_EQ(incoming.on_read_announce(now, flow_of(), numbered(frame, 0)), Taken::kYes);
  EXPECT_EQ(completions().at(0).status, Errc::kRegionRefused);
  EXPECT_EQ(incoming.on_read_announce(now, flow_of(), numbered(frame, 1)),
            Taken::kYes);  // ended before
  EXPECT_TRUE(completions().empty());
  EXPECT_EQ(flow().incoming.floor(), 2U);
}

TEST_F(OneSided, on_read_announce__nobody_waits_for_it) {
  const std::uint32_t slot = read(5'000);
  EXPECT_EQ(incoming.on_read_announce(now, flow_of(), numbered(announced_answer(slot, 4'999), 0)),
            Taken::kYes);
  EXPECT_EQ(ending().code, Errc::kPeerCancelled);
  EXPECT_EQ(ending().token, 9U);
  use_all_refusals();
  EXPECT_EQ(incoming.on_read_announce(now, flow_of(), numbered(announced_answer(slot, 4'999), 1)),
            Taken::kNoRoom);
}

TEST_F(OneSided, end__a_read_takes_its_request_along) {
  const std::uint32_t slot = read(50);
  EXPECT_TRUE(incoming.end(now, slot, Errc::kCancelled));
  EXPECT_EQ(completions().at(0).status, Errc::kCancelled);
  EXPECT_EQ(incoming.on_read_data(now, flow_of(), numbered(answer(slot, content(50)), 0)),
            Taken::kYes);
  EXPECT_TRUE(completions().empty());
  ack(request_);
  expect_idle();
}

}  // namespace
}  // namespace zhinu::core

// Who may not stand behind whom: the lanes of a channel, pauses, ended records in queues.
#include <gtest/gtest.h>

#include <vector>

#include "core/modules_fixture_test.h"
#include "core/outgoing.h"

namespace zhinu::core {
namespace {

using test::Filled;
using test::kCommunicator;
using test::kOther;
using test::Modules;
using test::refusal_of;
using wire::FrameKind;

using Kinds = std::vector<FrameKind>;

// As many announcements as the receiver remembers, and one message more.
void block_messages(Modules& modules) {
  for (std::uint32_t tag = 0; tag < 3; ++tag) modules.send(5'000, kCommunicator, tag);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.kinds(), (Kinds{FrameKind::kAnnounce, FrameKind::kAnnounce}));
  modules.ack(packet);
  ASSERT_TRUE(modules.fill().frames.empty());
}

TEST(Outgoing, fill__one_sided_operations_pass_blocked_messages) {
  Modules modules;
  block_messages(modules);
  modules.read(100);
  modules.write(100);
  modules.answer(100);
  modules.write(5'000);
  modules.answer(5'000);
  modules.write(5'000);
  EXPECT_EQ(modules.fill().kinds(), (Kinds{FrameKind::kRead, FrameKind::kPut, FrameKind::kReadData,
                                           FrameKind::kWrite, FrameKind::kReadAnnounce}));
  // Their own limit of announcements.
  EXPECT_TRUE(modules.fill().frames.empty());
  EXPECT_EQ(modules.channel().announced, 2U);
  EXPECT_EQ(modules.channel().one_sided.announced, 2U);
}

TEST(Outgoing, fill__messages_pass_blocked_writes) {
  Modules modules;
  for (int i = 0; i < 3; ++i) modules.write(5'000);
  modules.ack(modules.fill());
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.send(10);
  EXPECT_EQ(modules.fill().kinds(), Kinds{FrameKind::kMessage});
}

TEST(Outgoing, fill__lanes_take_turns) {
  Modules modules;
  for (int i = 0; i < 30; ++i) {
    modules.send(1'000);
    modules.write(1'000);
  }
  // A turn of 9 KiB each: nine messages, nine writes, nine messages.
  std::vector<FrameKind> kinds;
  while (kinds.size() < 27) {
    for (const FrameKind kind : modules.fill().kinds()) kinds.push_back(kind);
  }
  for (std::size_t i = 0; i < 27; ++i) {
    EXPECT_EQ(kinds[i], i / 9 == 1 ? FrameKind::kPut : FrameKind::kMessage) << i;
  }
}

TEST(Outgoing, fill__a_channel_without_room_for_messages_has_it_for_writes) {
  Modules modules;
  modules.send(10);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_TRUE(modules.channel().closed);
  modules.write(10);
  EXPECT_EQ(modules.fill().kinds(), (Kinds{FrameKind::kAnnounce, FrameKind::kPut}));
}

// The first number is free only once its message was announced, and that is in a channel
// behind one that has no number to give.
TEST(Outgoing, fill__a_blocked_channel_hides_no_other) {
  Modules modules;
  modules.send(10, kOther);
  const Filled first = modules.fill();
  Filled filled;
  for (std::uint32_t number = 1; number < NumberWindow::kWindow; ++number) {
    modules.send(0);
    filled = modules.fill();
    ASSERT_EQ(filled.frames.size(), 1U);
    modules.ack(filled);
    modules.completions();
  }
  modules.send(10);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.ack(first, refusal_of(0, Errc::kNotHeld));
  filled = modules.fill();
  EXPECT_EQ(filled.kinds(), Kinds{FrameKind::kAnnounce});
  EXPECT_EQ(filled.frames[0].number, 0U);
  EXPECT_EQ(filled.frames[0].communicator, kOther.value);
}

TEST(Outgoing, pause__each_refusal_doubles_the_wait) {
  Modules modules;
  modules.read(100);
  Duration wait = microseconds(100);
  for (int i = 0; i < 20; ++i) {
    modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
    EXPECT_EQ(modules.channel().retry_at, modules.now + wait);
    EXPECT_TRUE(modules.peer().timer_dirty);
    EXPECT_TRUE(modules.fill().frames.empty());
    modules.outgoing.check_credit_probes(modules.now + wait - Duration{1}, modules.peer());
    EXPECT_EQ(modules.peer().credit_probe_at, modules.now + wait);
    EXPECT_TRUE(modules.fill().frames.empty());
    modules.now = modules.now + wait;
    modules.outgoing.check_credit_probes(modules.now, modules.peer());
    EXPECT_EQ(modules.peer().credit_probe_at, Instant::never());
    wait = std::min(wait * 2, modules.state.options.credit_probe_max);
  }
  EXPECT_EQ(wait, modules.state.options.credit_probe_max);
}

TEST(Outgoing, pause__the_other_lane_goes_on) {
  Modules modules;
  modules.read(100);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  modules.write(10);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.send(10);
  EXPECT_EQ(modules.fill().kinds(), Kinds{FrameKind::kMessage});
}

TEST(Outgoing, pause__what_is_taken_ends_the_memory_of_it) {
  Modules modules;
  modules.read(100);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  modules.retry();
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_EQ(modules.channel().retry_interval, microseconds(200));
  modules.retry();
  modules.ack(modules.fill());
  EXPECT_EQ(modules.channel().retry_interval, Duration{});
}

TEST(Outgoing, end__ended_records_do_not_wait_for_the_turn_of_their_queue) {
  Modules modules;
  modules.peer().state = PeerState::kConnecting;  // nothing is served
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 3; ++i) slots.push_back(modules.send(10, kCommunicator, i));
  modules.outgoing.end(slots[1], Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.state.sends.used(), 3U);  // one before it is alive
  modules.outgoing.end(slots[0], Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.outgoing.end(slots[2], Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.outgoing.end(modules.send(10), Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.channel().queue.head, kNoSlot);
  EXPECT_EQ(modules.channel().records, 0U);
}

TEST(Outgoing, on_cancel_acked__opens_the_window_of_numbers) {
  Modules modules;
  const std::uint32_t slot = modules.send(10, kOther);
  const Filled first = modules.fill();
  modules.outgoing.end(slot, Errc::kCancelled);
  for (std::uint32_t number = 1; number < NumberWindow::kWindow; ++number) {
    modules.send(0);
    modules.ack(modules.fill());
    modules.completions();
  }
  modules.ack(first, refusal_of(0, Errc::kNotHeld));
  modules.send(10);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.flow().in_ring = false;  // as the assembler leaves a flow that fills nothing
  modules.state.rings[index_of(TrafficClass::kGradient)] = {};
  modules.state.flows_in_rings = 0;
  modules.outgoing.on_cancel_acked(modules.peer().cancels.pop_front(modules.state.sends));
  EXPECT_TRUE(modules.flow().in_ring);
  EXPECT_EQ(modules.fill().frames.size(), 1U);
}

TEST(Outgoing, on_refused__a_message_that_waits_to_be_announced_again) {
  Modules modules;
  const std::uint32_t slot = modules.send(5'000);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_EQ(modules.state.sends[slot].state, SendState::kQueued);
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTruncated);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kTruncated);
  modules.expect_idle();
}

}  // namespace
}  // namespace zhinu::core

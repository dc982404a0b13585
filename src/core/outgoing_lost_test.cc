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
using Numbers = std::vector<std::uint64_t>;

constexpr std::uint32_t kOverhead = 36;  // header and tag

TEST(Outgoing, fill__lost_messages_go_again_unchanged) {
  Modules modules;
  modules.send(10);
  modules.send(20);
  const Filled packet = modules.fill();
  modules.lose(packet);
  EXPECT_EQ(modules.flow().lost.head, packet.sent);
  const Filled again = modules.fill();
  ASSERT_EQ(again.numbers(), (Numbers{0, 1}));
  EXPECT_EQ(again.frames[1].order, packet.frames[1].order);
  EXPECT_EQ(again.frames[1].length, 20U);
  EXPECT_EQ(modules.state.sent_packets.used(), 1U);
  modules.ack(again);
  EXPECT_EQ(modules.completions().size(), 2U);
  modules.expect_idle();
}

TEST(Outgoing, fill__lost_messages_into_smaller_packets) {
  Modules modules;
  for (std::uint32_t tag = 0; tag < 3; ++tag) modules.send(400, kCommunicator, tag);
  modules.lose(modules.fill());
  const Filled first = modules.fill(1'000);
  EXPECT_EQ(first.numbers(), (Numbers{0, 1}));
  const Filled second = modules.fill(1'000);
  EXPECT_EQ(second.numbers(), Numbers{2});
  EXPECT_TRUE(modules.flow().lost.empty());
  modules.ack(second);
  modules.ack(first);
  EXPECT_EQ(modules.completions().size(), 3U);
  modules.expect_idle();
}

TEST(Outgoing, fill__a_lost_message_larger_than_any_packet_is_announced) {
  Modules modules;
  const std::uint32_t slot = modules.send(1'000);
  modules.send(10);
  modules.lose(modules.fill());
  const Filled packet = modules.fill(500);
  EXPECT_EQ(packet.numbers(), Numbers{1});
  EXPECT_EQ(modules.state.sends[slot].state, SendState::kQueued);
  const Filled next = modules.fill(500);
  ASSERT_EQ(next.kinds(), Kinds{FrameKind::kAnnounce});
  EXPECT_EQ(next.frames[0].number, 0U);
  modules.ack(packet);
  modules.ack(next);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 1'000);
  for (int i = 0; i < 3; ++i) modules.ack(modules.fill(500));
  EXPECT_EQ(modules.completions().size(), 2U);
  modules.expect_idle();
}

TEST(Outgoing, fill__a_lost_segment_into_smaller_packets) {
  Modules modules;
  modules.granted(2'000);
  const Filled whole = modules.fill();
  ASSERT_EQ(whole.frames[0].length, 2'000U);
  modules.lose(whole);
  std::vector<std::uint64_t> lengths;
  std::vector<Filled> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(modules.fill(1'000));
    lengths.push_back(parts.back().frames.at(0).length);
  }
  EXPECT_EQ(lengths, (Numbers{896, 896, 208}));
  EXPECT_TRUE(modules.flow().lost.empty());
  for (const Filled& part : parts) modules.ack(part);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, fill__a_lost_announcement_goes_again) {
  Modules modules;
  const std::uint32_t slot = modules.send(5'000);
  modules.lose(modules.fill());
  const Filled again = modules.fill();
  ASSERT_EQ(again.kinds(), Kinds{FrameKind::kAnnounce});
  EXPECT_EQ(modules.state.sends[slot].references, 1U);
  EXPECT_EQ(modules.channel().announced, 1U);
}

TEST(Outgoing, fill__a_lost_segment_is_dropped_when_its_message_is_announced_again) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(5'000);
  const Filled announcement = modules.fill(kOverhead + 24);
  const Filled segment = modules.fill();
  ASSERT_EQ(announcement.kinds(), Kinds{FrameKind::kAnnounce});
  ASSERT_EQ(segment.kinds(), Kinds{FrameKind::kSegment});
  modules.ack(announcement, refusal_of(0, Errc::kNotHeld));
  modules.lose(segment);
  modules.retry();
  const Filled again = modules.fill();
  EXPECT_EQ(again.kinds(), Kinds{FrameKind::kAnnounce});
  modules.ack(again);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 5'000);
  for (const std::uint64_t offset : {0U, 3'968U}) {
    const Filled packet = modules.fill();
    EXPECT_EQ(packet.frames.at(0).offset, offset);
    modules.ack(packet);
  }
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, fill__what_a_dead_path_left_goes_at_the_pace_of_the_window) {
  Modules modules;
  std::vector<Filled> packets;
  for (std::uint32_t tag = 0; tag < 2; ++tag) {
    modules.send(1'000, kCommunicator, tag);
    packets.push_back(modules.fill(1'100));
  }
  for (const Filled& packet : packets) modules.lose(packet);
  Flow& flow = modules.flow();
  flow.pace_resends = true;
  const Filled first = modules.fill(1'100);
  EXPECT_EQ(first.numbers(), Numbers{0});
  const auto window = static_cast<std::int64_t>(flow.window.bytes());
  const Duration pace = modules.peer().paths.best_rtt() * 1'012 / window;
  EXPECT_EQ(flow.resend_at, modules.now + pace);
  EXPECT_FALSE(flow.resend_waits);
  modules.send(10, kOther);
  EXPECT_EQ(modules.fill().numbers(), Numbers{2});  // other work goes meanwhile
  EXPECT_TRUE(flow.resend_waits);
  EXPECT_TRUE(modules.peer().timer_dirty);
  modules.now = flow.resend_at;
  EXPECT_EQ(modules.fill(1'100).numbers(), Numbers{1});
  EXPECT_FALSE(flow.pace_resends);
}

}  // namespace
}  // namespace zhinu::core

// What acknowledgement, refusal and loss mean for messages: outgoing_fate.cc.
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

// The peer learns that the number at the head of the cancels is void.
void finish_cancel(Modules& modules) {
  ASSERT_FALSE(modules.peer().cancels.empty());
  modules.outgoing.on_cancel_acked(modules.peer().cancels.pop_front(modules.state.sends));
}

std::vector<std::uint64_t> queued_numbers(Modules& modules) {
  std::vector<std::uint64_t> numbers;
  for (std::uint32_t at = modules.channel().queue.head; at != kNoSlot;
       at = modules.state.sends[at].next) {
    numbers.push_back(modules.state.sends[at].number);
  }
  return numbers;
}

TEST(RefusedNumbers, find__needs_class_number_and_sort) {
  RefusedNumbers refused = refusal_of(7, Errc::kNotHeld);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, 7), Errc::kNotHeld);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, (1ULL << 32) + 7), Errc::kNotHeld);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, 8), Errc::kOk);
  EXPECT_EQ(refused.find(TrafficClass::kWeights, 7), Errc::kOk);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, 7, true), Errc::kOk);
  refused = refusal_of(7, Errc::kNotHeld, true);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, 7, true), Errc::kNotHeld);
  EXPECT_EQ(refused.find(TrafficClass::kGradient, 7), Errc::kOk);
}

TEST(Outgoing, on_acked__an_error_ends_a_message_with_its_code) {
  Modules modules;
  modules.send(10);
  modules.send(10, kCommunicator, 1);
  modules.ack(modules.fill(), refusal_of(1, Errc::kRegionRefused));
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, Errc::kOk);
  EXPECT_EQ(done[1].status, Errc::kRegionRefused);
  EXPECT_EQ(modules.state.counters[Counter::kMessagesSent], 1U);
  EXPECT_EQ(modules.flow().outgoing.floor(), 1U);
  finish_cancel(modules);
  EXPECT_EQ(modules.flow().outgoing.floor(), 2U);
  modules.expect_idle();
}

TEST(Outgoing, on_acked__not_held_goes_before_what_was_sent_later) {
  Modules modules;
  for (std::uint32_t tag = 0; tag < 3; ++tag) modules.send(10, kCommunicator, tag);
  const Filled first = modules.fill(36 + 22);
  const Filled second = modules.fill(36 + 22);
  const Filled third = modules.fill(36 + 22);
  modules.send(10, kCommunicator, 3);
  modules.ack(third, refusal_of(2, Errc::kNotHeld));
  modules.ack(first, refusal_of(0, Errc::kNotHeld));
  modules.ack(second, refusal_of(1, Errc::kNotHeld));
  EXPECT_EQ(queued_numbers(modules).size(), 4U);
  EXPECT_EQ(modules.state.sends[modules.channel().queue.tail].user, 103U);
  EXPECT_FALSE(modules.state.sends[modules.channel().queue.tail].has_number);
  EXPECT_TRUE(modules.channel().closed);
  EXPECT_TRUE(modules.channel().in_ring);
  const Filled packet = modules.fill();
  // More than the receiver remembers, as what came earlier must not wait; what is new does.
  ASSERT_EQ(packet.frames.size(), 3U);
  EXPECT_EQ(packet.frames[0].kind, FrameKind::kAnnounce);
  EXPECT_EQ(packet.frames[0].number, 0U);
  EXPECT_EQ(packet.frames[1].number, 1U);
  EXPECT_EQ(packet.frames[2].number, 2U);
  EXPECT_EQ(queued_numbers(modules).size(), 1U);
  EXPECT_EQ(modules.flow().outgoing.floor(), 0U);
  EXPECT_TRUE(modules.completions().empty());
}

TEST(Outgoing, on_acked__a_refused_write_does_not_open_a_closed_channel) {
  Modules modules;
  modules.send(10);
  modules.write(10);
  const Filled packet = modules.fill();
  RefusedNumbers both = refusal_of(0, Errc::kNotHeld);
  both.entries[1] = refusal_of(1, Errc::kNotHeld).entries[0];
  both.count = 2;
  modules.ack(packet, both);
  EXPECT_TRUE(modules.channel().closed);
}

TEST(Outgoing, on_acked__a_refused_write_alone_closes_nothing) {
  Modules modules;
  modules.write(10);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_FALSE(modules.channel().closed);
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].kind, FrameKind::kWrite);
}

TEST(Outgoing, on_acked__a_read_request_that_was_not_held_goes_again) {
  Modules modules;
  const std::uint32_t reader = modules.read(100);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  EXPECT_TRUE(modules.fill().frames.empty());  // not at once
  EXPECT_EQ(modules.channel().retry_at, modules.now + microseconds(100));
  EXPECT_EQ(modules.peer().credit_probe_at, modules.now + microseconds(100));
  modules.retry();
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].kind, FrameKind::kRead);
  EXPECT_EQ(again.frames[0].number, 0U);
  modules.ack(again);
  EXPECT_EQ(modules.state.receives[reader].state, ReceiveState::kWaiting);
  EXPECT_EQ(modules.state.receives[reader].request_slot, kNoSlot);
  EXPECT_EQ(modules.state.sends.used(), 0U);
  EXPECT_EQ(modules.state.counters[Counter::kMessagesSent], 0U);
}

TEST(Outgoing, on_acked__a_refused_read_request_ends_the_read) {
  Modules modules;
  modules.read(100);
  modules.ack(modules.fill(), refusal_of(0, Errc::kRegionRefused));
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kRegionRefused);
  EXPECT_EQ(done[0].kind, OperationKind::kRead);
  EXPECT_EQ(done[0].user, 300U);
  finish_cancel(modules);
  modules.expect_idle();
}

// It counts as announced until then: else a channel could have any number of them over there.
TEST(Outgoing, on_refused__an_empty_announced_message_was_taken) {
  Modules modules;
  const std::uint32_t slot = modules.send(0);
  modules.ack(modules.fill(), refusal_of(0, Errc::kNotHeld));
  modules.ack(modules.fill());
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.channel().announced, 1U);
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTaken);
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kOk);
  EXPECT_EQ(modules.channel().announced, 0U);
  modules.expect_idle();
}

TEST(Outgoing, on_refused__what_has_bytes_is_not_taken_without_them) {
  Modules modules;
  const std::uint32_t slot = modules.send(5'000);
  modules.ack(modules.fill());
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTaken);
  EXPECT_TRUE(modules.completions().empty());
  EXPECT_EQ(modules.state.counters[Counter::kDropBadFrame], 1U);
}

TEST(Outgoing, on_acked__a_refused_announcement_ends_the_message) {
  Modules modules;
  modules.send(5'000);
  modules.ack(modules.fill(), refusal_of(0, Errc::kAborted));
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, Errc::kAborted);
  EXPECT_EQ(modules.flow().outgoing.floor(), 0U);
  finish_cancel(modules);
  EXPECT_EQ(modules.flow().outgoing.floor(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, on_acked__an_announcement_without_room_goes_again) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(5'000);
  const Filled announcement = modules.fill(36 + 24);
  EXPECT_EQ(modules.flow().bulk.head, slot);
  modules.ack(announcement, refusal_of(0, Errc::kNotHeld));
  EXPECT_TRUE(modules.flow().bulk.empty());
  EXPECT_EQ(modules.channel().announced, 0U);
  EXPECT_EQ(modules.flow().outgoing.floor(), 0U);
  EXPECT_TRUE(modules.fill().frames.empty());  // not at once
  modules.retry();
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 2U);
  EXPECT_EQ(again.frames[0].kind, FrameKind::kAnnounce);
  EXPECT_EQ(again.frames[1].offset, 0U);  // nothing of it was sent before
  EXPECT_EQ(modules.channel().announced, 1U);
}

// Its segments are refused too, and acknowledged before it or after.
TEST(Outgoing, on_acked__segments_of_an_announcement_without_room_count_for_nothing) {
  for (const bool announcement_first : {false, true}) {
    Modules modules;
    modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
    const std::uint32_t slot = modules.send(2'000);
    const Filled announcement = modules.fill(36 + 24);
    const Filled segment = modules.fill();
    ASSERT_EQ(segment.frames.at(0).length, 2'000U);
    RefusedNumbers refused = refusal_of(0, Errc::kNotHeld);
    refused.entries[refused.count++] = refusal_of(0, Errc::kNotHeld, true).entries[0];
    modules.ack(announcement_first ? announcement : segment, refused);
    modules.ack(announcement_first ? segment : announcement, refused);
    EXPECT_TRUE(modules.completions().empty());
    modules.retry();
    modules.ack(modules.fill());
    modules.outgoing.on_grant(modules.flow_of(), slot, 0, 2'000);
    const Filled again = modules.fill();
    EXPECT_EQ(again.frames.at(0).length, 2'000U);
    modules.ack(again);
    EXPECT_EQ(modules.completions().size(), 1U);
    modules.expect_idle();
  }
}

TEST(Outgoing, on_acked__late_announcement_of_an_ended_message) {
  Modules modules;
  const std::uint32_t slot = modules.send(5'000);
  const Filled packet = modules.fill();
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTruncated);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.ack(packet);
  EXPECT_EQ(modules.flow().outgoing.floor(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, on_acked__segments_without_a_buffer_go_once_more_with_the_grant) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(5'000);
  modules.ack(modules.fill(36 + 24));
  const Filled first = modules.fill(36 + 12 + 1'024);
  const Filled second = modules.fill(36 + 12 + 1'024);
  modules.ack(first, refusal_of(0, Errc::kNotHeld, true));
  modules.ack(second, refusal_of(0, Errc::kNotHeld, true));
  EXPECT_TRUE(modules.fill().frames.empty());
  EXPECT_EQ(modules.state.sent_packets.used(), 0U);  // others may need them
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 5'000);
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < 2; ++i) {
    const Filled packet = modules.fill();
    offsets.push_back(packet.frames.at(0).offset);
    modules.ack(packet);
  }
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0, 3'968}));
  const auto done = modules.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].bytes, 5'000U);
  modules.expect_idle();
}

TEST(Outgoing, on_acked__a_refusal_older_than_the_grant_sends_again) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(2'000);
  modules.ack(modules.fill(36 + 24));
  const Filled segment = modules.fill();
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 2'000);
  modules.ack(segment, refusal_of(0, Errc::kNotHeld, true));
  EXPECT_EQ(modules.flow().lost.head, segment.sent);
  const Filled again = modules.fill();
  EXPECT_EQ(again.frames.at(0).length, 2'000U);
  modules.ack(again);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

// The peer got a buffer after it had refused the first segment, and before its grant is here.
TEST(Outgoing, on_acked__a_segment_that_is_taken_after_one_was_refused) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(2'048);
  modules.ack(modules.fill(36 + 24));
  const Filled first = modules.fill(36 + 12 + 1'024);
  const Filled second = modules.fill();
  modules.ack(first, refusal_of(0, Errc::kNotHeld, true));
  EXPECT_TRUE(modules.state.sends[slot].refused);
  modules.ack(second);
  const Filled again = modules.fill();
  EXPECT_EQ(again.frames.at(0).offset, 0U);
  EXPECT_EQ(again.frames.at(0).length, 2'048U);
  modules.ack(again);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

// It was under way when the message began anew: the segment that replaced it counts.
TEST(Outgoing, on_acked__a_segment_of_an_earlier_round_counts_for_nothing) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(2'048);
  modules.ack(modules.fill(36 + 24));
  const Filled first = modules.fill(36 + 12 + 1'024);
  const Filled second = modules.fill();
  modules.ack(first, refusal_of(0, Errc::kNotHeld, true));
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 2'048);
  const Filled again = modules.fill();
  modules.ack(second);
  EXPECT_EQ(modules.state.sends[slot].acked, 0U);
  EXPECT_TRUE(modules.completions().empty());
  modules.ack(again);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.expect_idle();
}

TEST(Outgoing, on_acked__a_refused_segment_releases_its_packet) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 9);
  modules.send(10);
  const std::uint32_t slot = modules.send(2'000);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.frames.size(), 3U);
  modules.ack(packet, refusal_of(1, Errc::kNotHeld, true));
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.state.sent_packets.used(), 0U);
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
}

TEST(Outgoing, on_acked__segments_of_an_ended_message_release_it) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 1);
  const std::uint32_t slot = modules.send(2'000);
  const Filled packet = modules.fill();
  modules.outgoing.on_refused(modules.flow_of(), slot, 0, Errc::kTruncated);
  EXPECT_EQ(modules.completions().size(), 1U);
  EXPECT_EQ(modules.state.sends[slot].references, 2U);
  modules.ack(packet);
  modules.expect_idle();
}

TEST(Outgoing, fail_answer__queued_becomes_an_announcement_with_the_code) {
  Modules modules;
  const std::uint32_t slot = modules.answer(60);
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  const Filled packet = modules.fill();
  ASSERT_EQ(packet.frames.size(), 1U);
  EXPECT_EQ(packet.frames[0].kind, FrameKind::kReadAnnounce);
  EXPECT_EQ(packet.frames[0].code, Errc::kRegionRefused);
  EXPECT_EQ(packet.frames[0].length, 0U);
  modules.ack(packet);
  modules.expect_idle();
}

TEST(Outgoing, fail_answer__eager_that_arrives_is_done) {
  Modules modules;
  const std::uint32_t slot = modules.answer(60);
  const Filled packet = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.ack(packet);
  modules.expect_idle();
}

TEST(Outgoing, fail_answer__eager_that_is_lost_is_announced_as_failed) {
  Modules modules;
  const std::uint32_t slot = modules.answer(60);
  const Filled packet = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.lose(packet);
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].kind, FrameKind::kReadAnnounce);
  EXPECT_EQ(again.frames[0].code, Errc::kRegionRefused);
  modules.ack(again);
  modules.expect_idle();
}

TEST(Outgoing, fail_answer__announced_and_known_is_cancelled) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  modules.ack(modules.fill());
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  EXPECT_EQ(modules.peer().cancels.head, slot);
  EXPECT_EQ(modules.state.sends[slot].status, Errc::kRegionRefused);
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);  // no-op
}

TEST(Outgoing, fail_answer__announcement_under_way_is_cancelled_with_its_ack) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  const Filled packet = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  EXPECT_TRUE(modules.peer().cancels.empty());
  modules.ack(packet);
  EXPECT_EQ(modules.peer().cancels.head, slot);
}

TEST(Outgoing, fail_answer__announcement_that_is_lost_carries_the_code) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  const Filled packet = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.lose(packet);
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].code, Errc::kRegionRefused);
}

// The grant overtook the acknowledgement of the announcement.
TEST(Outgoing, fail_answer__granted_before_its_ack_is_cancelled_and_sends_nothing) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  const Filled announcement = modules.fill();
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 5'000);
  const Filled segment = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.lose(segment);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.ack(announcement);
  finish_cancel(modules);
  modules.expect_idle();
}

TEST(Outgoing, fail_answer__a_grant_after_it_sends_nothing) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  const Filled announcement = modules.fill();
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 5'000);
  EXPECT_TRUE(modules.fill().frames.empty());
  modules.ack(announcement);
  finish_cancel(modules);
  modules.expect_idle();
}

// A peer may grant and refuse what it likes: that is no reason to fall.
TEST(Outgoing, fail_answer__data_under_way_of_an_answer_that_is_announced_again) {
  Modules modules;
  const std::uint32_t slot = modules.answer(5'000);
  const Filled announcement = modules.fill();
  modules.outgoing.on_grant(modules.flow_of(), slot, 0, 5'000);
  const Filled segment = modules.fill();
  modules.ack(announcement, refusal_of(0, Errc::kNotHeld));
  modules.outgoing.fail_answer(slot, Errc::kRegionRefused);
  modules.retry();
  const Filled again = modules.fill();
  ASSERT_EQ(again.frames.size(), 1U);
  EXPECT_EQ(again.frames[0].code, Errc::kRegionRefused);
  modules.ack(segment);
  modules.ack(again);
  modules.expect_idle();
}

TEST(Outgoing, forget_packet__drops_what_every_item_refers_to) {
  Modules modules;
  modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 9);
  modules.send(10);
  modules.send(10);
  modules.send(2'000);
  const Filled packet = modules.fill();
  const std::uint32_t cancelled = modules.send(10, kOther);
  SentPacket& sent = modules.state.sent_packets[packet.sent];
  ASSERT_EQ(sent.item_count, 3U);
  modules.outgoing.forget_packet(packet.sent);
  EXPECT_EQ(modules.state.sent_packets.used(), 0U);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(modules.state.sends[slot].references, 0U);
  }
  EXPECT_EQ(modules.state.sends[cancelled].references, 1U);
}

TEST(Outgoing, forget_packet__of_a_cancel_frame) {
  Modules modules;
  const std::uint32_t slot = modules.send(5'000);
  modules.ack(modules.fill());
  modules.outgoing.end(slot, Errc::kCancelled);
  EXPECT_EQ(modules.completions().size(), 1U);
  modules.peer().cancels.pop_front(modules.state.sends);
  const std::uint32_t sent_slot = modules.state.sent_packets.acquire();
  SentPacket& sent = modules.state.sent_packets[sent_slot];
  sent.item_count = 1;
  sent.items[0].kind = SentKind::kCancel;
  sent.items[0].slot = slot;
  modules.outgoing.forget_packet(sent_slot);
  modules.expect_idle();
}

// No peer takes a segment of a message that it does not know.
bool may_arrive(Modules& modules, const Filled& packet, bool refuses, std::uint64_t refused) {
  const wire::Frame& last = packet.frames.back();
  if (last.kind != FrameKind::kSegment) return true;
  if (refuses && refused == last.number) return false;
  const SentPacket& sent = modules.state.sent_packets[packet.sent];
  const std::uint32_t slot = sent.items[sent.item_count - 1U].slot;
  return modules.state.sends[slot].state != SendState::kQueued;
}

// Whatever the fate of packets, every send ends once, and nothing is left behind.
TEST(Outgoing, fates__every_send_ends_once) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Modules modules;
    Prng prng(seed);
    std::vector<Filled> flying;
    std::size_t posted = 0;
    std::size_t ended = 0;
    modules.outgoing.on_credit(modules.flow_of(), kCommunicator.value, 3);
    for (int step = 0; step < 4'000; ++step) {
      const bool draining = step >= 2'000;
      if (!draining && prng.below(3) == 0) {
        const std::uint32_t sent = modules.send(
            prng.below(2) == 0 ? prng.below(900) : prng.below(9'000),
            prng.below(2) == 0 ? kCommunicator : kOther, static_cast<std::uint32_t>(posted));
        if (sent != kNoSlot) ++posted;
      }
      if (modules.state.sent_packets.available() > 0) {
        const Filled packet = modules.fill(static_cast<std::uint32_t>(prng.between(1'280, 4'096)));
        if (packet.sent != kNoSlot) flying.push_back(packet);
      }
      if (!flying.empty() && (draining || prng.below(2) == 0)) {
        const auto at = static_cast<std::ptrdiff_t>(prng.below(flying.size()));
        const Filled packet = flying[static_cast<std::size_t>(at)];
        flying.erase(flying.begin() + at);
        const bool refuses = !draining && prng.below(4) == 0;
        const std::uint64_t refused = packet.frames[prng.below(packet.frames.size())].number;
        if ((!draining && prng.below(3) == 0) || !may_arrive(modules, packet, refuses, refused)) {
          modules.lose(packet);
        } else {
          modules.ack(packet, refuses ? refusal_of(refused, Errc::kNotHeld) : RefusedNumbers{});
        }
      }
      const auto slot = static_cast<std::uint32_t>(prng.below(modules.state.sends.capacity()));
      const SendRecord& record = modules.state.sends[slot];
      if (record.state == SendState::kAnnounced && record.announce_acked) {
        modules.outgoing.on_grant(modules.flow_of(), slot,
                                  static_cast<std::uint32_t>(record.number), record.length);
      } else if (!draining && record.state != SendState::kFree && prng.below(20) == 0) {
        modules.outgoing.end(slot, Errc::kCancelled);
      }
      if (!modules.peer().cancels.empty()) {
        modules.outgoing.on_cancel_acked(modules.peer().cancels.pop_front(modules.state.sends));
      }
      modules.retry();
      ended += modules.completions().size();
    }
    EXPECT_EQ(ended, posted);
    EXPECT_TRUE(flying.empty());
    EXPECT_EQ(modules.flow().outgoing.floor(), modules.flow().next_number);
    modules.expect_idle();
  }
}

}  // namespace
}  // namespace zhinu::core

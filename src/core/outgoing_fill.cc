// What a flow puts into the next packet.
#include <algorithm>

#include "core/outgoing.h"

namespace zhinu::core {

namespace {

// Packets of small messages in a row before waiting bulk data gets one.
constexpr std::uint32_t kSmallStreakMax = 4;

wire::FrameKind eager_kind(const SendRecord& record) {
  switch (record.kind) {
    case SendKind::kMessage: break;  // message_frame() is for it
    case SendKind::kWrite: return wire::FrameKind::kPut;
    case SendKind::kReadRequest: return wire::FrameKind::kRead;
    case SendKind::kReadAnswer: return wire::FrameKind::kReadData;
  }
  ZHINU_ASSERT(false);
  return wire::FrameKind::kPadding;
}

void describe_notification(const SendRecord& record, wire::Frame& frame) {
  frame.flags = static_cast<std::uint8_t>((record.notify ? wire::kFlagNotify : 0) |
                                          (record.ordered ? wire::kFlagOrdered : 0));
  frame.tag = record.immediate;
  frame.digest = record.behind;
}

}  // namespace

// Small messages by the dozen go through these: inline, they cost half.
[[gnu::always_inline]] inline wire::Frame Outgoing::message_frame(const SendRecord& record) {
  return {.kind = record.digest != 0 ? wire::FrameKind::kMessageDigest : wire::FrameKind::kMessage,
          .order = record.order,
          .communicator = record.communicator,
          .tag = record.tag,
          .digest = record.digest,
          .number = record.number,
          .length = record.length,
          .payload = record.data};
}

// A numbered message is behind the last one of its channel, until all up to that one were seen:
// seen alone, it may be one that was given up, with others before it that still come.
[[gnu::always_inline]] inline void Outgoing::put_in_order(const Flow& flow, Channel& channel,
                                                          SendRecord& record) {
  if (channel.has_last && channel.last_number >= flow.outgoing.floor()) {
    const std::uint64_t distance = record.number - channel.last_number;
    record.order = static_cast<std::uint8_t>(std::min<std::uint64_t>(distance, 255));
  }
  channel.has_last = true;
  channel.last_number = record.number;
  ++channel.messages_sent;
}

void Outgoing::assign_number(Flow& flow, Channel& channel, SendRecord& record) {
  if (record.has_number) return;
  record.has_number = true;
  record.number = flow.next_number++;
  if (record.kind != SendKind::kMessage) return assign_one_sided(channel, record);
  put_in_order(flow, channel, record);
}

void Outgoing::add_eager(std::uint32_t slot, SendRecord& record, PacketBuilder& builder) {
  wire::Frame& frame = builder.add_message(record.number, eager_bytes(record));
  if (record.kind == SendKind::kMessage) {
    frame = message_frame(record);
  } else {
    describe(record, frame);
  }
  builder.chain(slot, record);
}

std::uint64_t Outgoing::one_sided_bytes(const SendRecord& record) {
  const std::uint64_t overhead = wire::bytes_of(eager_kind(record));
  return record.kind == SendKind::kReadRequest ? overhead : overhead + record.length;
}

void Outgoing::fill(Instant now, Flow& flow, FlowId id, PacketBuilder& builder) {
  const std::uint32_t begin = builder.bytes();
  const bool room_left = fill_lost(now, flow, id, builder);
  if (flow.pace_resends && builder.bytes() > begin) {
    // What a dead path left goes out at the pace of the window, not in one burst.
    const Duration rtt = state_.peer(peer_of(id)).paths.best_rtt();
    const std::uint64_t bytes = builder.bytes() - begin;
    flow.resend_at = now + Duration{static_cast<std::int64_t>(
                               bytes * static_cast<std::uint64_t>(rtt.ns) / flow.window.bytes())};
  }
  if (!room_left) return;
  const bool bulk_waits = !flow.bulk.empty();
  if (bulk_waits && flow.small_streak >= kSmallStreakMax) {
    flow.small_streak = 0;
    fill_bulk(flow, builder);
    return;
  }
  const std::uint32_t before = builder.bytes();
  const bool more = fill_channels(now, flow, builder);
  if (bulk_waits && builder.bytes() != before) ++flow.small_streak;
  if (more) fill_bulk(flow, builder);
}

bool Outgoing::fill_channels(Instant now, Flow& flow, PacketBuilder& builder) {
  std::uint32_t first_blocked = kNoSlot;
  while (!flow.channels.empty()) {
    const std::uint32_t slot = flow.channels.head;
    if (slot == first_blocked) return true;
    Channel& channel = state_.channels[slot];
    const Step step = fill_from_channel(now, flow, slot, builder);
    if (step == Step::kPacketFull) return false;
    if (step == Step::kFlowBlocked) {
      // Another channel may hold the very message that all numbers wait for: it has one.
      if (first_blocked == kNoSlot) first_blocked = slot;
      flow.channels.pop_front(state_.channels);
      flow.channels.push_back(state_.channels, slot);
      continue;
    }
    flow.channels.pop_front(state_.channels);
    channel.in_ring = false;
    // An empty one comes back with the next post, a blocked one with what frees it.
    if (step == Step::kTurnEnded) push_channel(flow, slot);
  }
  return true;
}

bool Outgoing::goes_eager(const SendRecord& record, const Channel& channel, const Turn& turn) {
  if (record.kind == SendKind::kReadRequest) return true;
  if (record.announce_queued || record.failure != Errc::kOk) return false;
  if (channel.closed && record.kind == SendKind::kMessage) return false;
  return record.length <= turn.eager_max && eager_bytes(record) <= turn.packet_room;
}

Outgoing::Step Outgoing::fill_from_channel(Instant now, Flow& flow, std::uint32_t channel_slot,
                                           PacketBuilder& builder) {
  Channel& channel = state_.channels[channel_slot];
  Step blocked = Step::kEmpty;
  for (int i = 0; i < 2; ++i) {
    Lane& lane = channel.next_lane();
    Step step = Step::kEmpty;
    if (lane.paused) {
      step = Step::kBlocked;
    } else if (!lane.queue.empty()) {
      step = fill_from_lane(now, flow, channel, lane, builder);
    }
    if (step == Step::kPacketFull) return step;
    channel.one_sided_next = !channel.one_sided_next;
    if (step == Step::kTurnEnded) return step;
    blocked = std::max(blocked, step);
  }
  // What is left of the turn does not add up to a burst.
  if (blocked != Step::kFlowBlocked) channel.deficit_bytes = 0;
  return blocked;
}

[[gnu::noinline]] Outgoing::Step Outgoing::fill_from_lane(Instant now, Flow& flow, Channel& channel,
                                                          Lane& lane, PacketBuilder& builder) {
  const Turn turn{.number_limit = flow.outgoing.floor() + NumberWindow::kWindow,
                  .packet_room = builder.limit() - static_cast<std::uint32_t>(wire::kFramesOffset),
                  .eager_max = state_.peer(peer_of(channel.flow)).session.eager_bytes_max};
  const std::uint64_t fresh_max =
      channel.closed
          ? 0
          : std::min<std::uint64_t>(turn.packet_room, wire::kMessageFrameBytes + turn.eager_max);
  while (!lane.queue.empty()) {
    const std::uint32_t slot = lane.queue.head;
    SendRecord& record = state_.sends[slot];
    const std::uint64_t bytes = wire::kMessageFrameBytes + record.length;
    const Step step = record.is_fresh_message() && bytes <= fresh_max
                          ? send_fresh(flow, channel, lane, slot, record, turn, builder)
                          : send_next(now, flow, channel, lane, turn, builder);
    if (step != Step::kEmpty) return step;
  }
  return Step::kEmpty;
}

// send_next() for what almost all messages of almost all flows are.
[[gnu::always_inline]] inline Outgoing::Step Outgoing::send_fresh(Flow& flow, Channel& channel,
                                                                  Lane& lane, std::uint32_t slot,
                                                                  SendRecord& record,
                                                                  const Turn& turn,
                                                                  PacketBuilder& builder) {
  const auto bytes = static_cast<std::uint32_t>(wire::kMessageFrameBytes + record.length);
  if (flow.next_number >= turn.number_limit) return Step::kFlowBlocked;
  if (!builder.fits_number(flow.next_number)) return Step::kPacketFull;
  if (!builder.fits_message(bytes)) return Step::kPacketFull;
  if (bytes > channel.deficit_bytes) return Step::kTurnEnded;
  channel.deficit_bytes -= bytes;
  lane.queue.take_front(record);
  record.has_number = true;
  record.number = flow.next_number++;
  put_in_order(flow, channel, record);
  record.state = SendState::kEager;
  builder.add_message(record.number, bytes) = message_frame(record);
  builder.chain(slot, record);
  return after_eager(builder);
}

// Sends the first of the queue.
[[gnu::noinline]] Outgoing::Step Outgoing::send_next(Instant now, Flow& flow, Channel& channel,
                                                     Lane& lane, const Turn& turn,
                                                     PacketBuilder& builder) {
  const std::uint32_t slot = lane.queue.head;
  SendRecord& record = state_.sends[slot];
  if (record.state == SendState::kEnded) {
    lane.queue.take_front(record);
    --record.references;
    state_.try_release_send(slot, record);
    return Step::kEmpty;
  }
  const std::uint64_t number = record.has_number ? record.number : flow.next_number;
  if (number >= turn.number_limit) return Step::kFlowBlocked;
  if (!builder.fits_number(number)) return Step::kPacketFull;
  if (goes_eager(record, channel, turn)) {
    const auto bytes = static_cast<std::uint32_t>(eager_bytes(record));
    if (!builder.fits_message(bytes)) return Step::kPacketFull;
    if (bytes > channel.deficit_bytes) return Step::kTurnEnded;
    channel.deficit_bytes -= bytes;
    lane.queue.take_front(record);
    assign_number(flow, channel, record);
    record.state = SendState::kEager;
    add_eager(slot, record, builder);
    return after_eager(builder);
  }
  // What was sent before and not held goes beyond the limit: those that are announced may be
  // behind it in order, and would wait for it for ever.
  if (lane.announced >= state_.options.announced_max && !record.announce_queued) {
    return Step::kBlocked;
  }
  if (!builder.fits(announce_bytes(record))) return Step::kPacketFull;
  lane.queue.take_front(record);
  assign_number(flow, channel, record);
  record.open_transfer();
  record.state = SendState::kAnnounced;
  --record.references;  // the queue's; the packet takes its own
  add_announce(slot, builder);
  after_announce(now, channel, slot);
  return Step::kEmpty;
}

inline Outgoing::Step Outgoing::after_eager(PacketBuilder& builder) {
  if (state_.misbehaviour == nullptr || !state_.misbehaviour->short_send()) return Step::kEmpty;
  builder.close();
  return Step::kPacketFull;
}

void Outgoing::assign_one_sided(Channel& channel, SendRecord& record) {
  if (record.ordered) {
    record.behind =
        channel.has_ordered ? static_cast<std::uint32_t>(record.number - channel.last_ordered) : 0;
    channel.has_ordered = true;
    channel.last_ordered = record.number;
  }
  if (record.kind == SendKind::kReadRequest && record.read_slot != kNoSlot) {
    ReceiveRecord& receive = state_.receives[record.read_slot];
    receive.number = record.number;
    receive.read_number_known = true;
  }
}

void Outgoing::after_announce(Instant now, Channel& channel, std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  record.announce_queued = false;
  record.counts_announced = true;
  const bool first = !channel.has_announced();
  ++channel.lane(record.kind).announced;
  if (first) {
    channel.credit_probe_interval = state_.options.credit_probe_first;
    channel.credit_probe_at = now + channel.credit_probe_interval;
    Peer& peer = state_.peer(peer_of(record.flow));
    peer.credit_probe_at = std::min(peer.credit_probe_at, channel.credit_probe_at);
    state_.touch_timer(peer);
  }
  // The peer posted a receive for this very message: its first bytes need not wait.
  if (record.kind != SendKind::kMessage || channel.messages_sent > channel.credit_received) return;
  // Not if they were sent in vain before: a grant will come.
  if (channel.closed || record.round > 0) return;
  const std::uint64_t bytes = std::min(record.length, state_.options.unscheduled_bytes);
  record.granted = bytes == record.length ? bytes : bytes - bytes % wire::kSegmentUnitBytes;
  push_bulk(slot);
}

// A frame of a one-sided operation that goes whole.
void Outgoing::describe(const SendRecord& record, wire::Frame& frame) {
  frame = wire::Frame{.kind = eager_kind(record),
                      .communicator = record.communicator,
                      .number = record.number,
                      .length = record.length,
                      .payload = record.data};
  if (record.kind == SendKind::kReadAnswer) {
    frame.token = record.peer_token;
    frame.offset = record.read_number;
    return;
  }
  frame.region_key = record.region_key;
  frame.offset = record.region_offset;
  if (record.kind == SendKind::kReadRequest) {
    frame.token = record.read_slot;
  } else {
    describe_notification(record, frame);
  }
}

void Outgoing::add_announce(std::uint32_t slot, PacketBuilder& builder) {
  SendRecord& record = state_.sends[slot];
  wire::Frame& frame = builder.add_message(record.number, announce_bytes(record));
  if (record.kind == SendKind::kMessage) {
    frame = message_frame(record);
  } else {
    describe(record, frame);
  }
  frame.kind = announce_kind(record);
  frame.payload = nullptr;
  frame.token = slot;
  if (record.kind == SendKind::kReadAnswer) {
    frame.peer_token = record.peer_token;
    frame.code = record.failure;
  }
  builder.add_item(SentKind::kAnnounce, slot);
  ++record.references;
}

void Outgoing::add_segment(std::uint32_t slot, std::uint64_t offset, std::uint32_t length,
                           PacketBuilder& builder) {
  SendRecord& record = state_.sends[slot];
  builder.add_message(record.number, wire::kSegmentFrameBytes + length) =
      wire::Frame{.kind = wire::FrameKind::kSegment,
                  .number = record.number,
                  .offset = offset,
                  .length = length,
                  .payload = record.data + offset};
  SentItem& item = builder.add_item(SentKind::kSegment, slot);
  item.offset = offset;
  item.length = length;
  item.generation = record.round;
  ++record.references;
  builder.close();  // a segment is the last of its packet: its bytes can be gathered
}

void Outgoing::fill_bulk(Flow& flow, PacketBuilder& builder) {
  if (flow.bulk.empty()) return;
  const std::uint32_t slot = flow.bulk.head;
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.sent < record.granted);
  if (!builder.fits(wire::kSegmentFrameBytes + 1) || !builder.fits_number(record.number)) return;
  const std::uint64_t room = builder.room() - wire::kSegmentFrameBytes;
  std::uint64_t length = std::min(record.granted - record.sent, room);
  if (record.sent + length < record.length) length -= length % wire::kSegmentUnitBytes;
  // Not worth a sliver behind other frames: the next packet takes a whole segment.
  const bool sliver = length < record.granted - record.sent && room < builder.limit() / 2;
  if (length == 0 || (sliver && !builder.empty())) return;
  add_segment(slot, record.sent, static_cast<std::uint32_t>(length), builder);
  record.sent += length;
  if (record.sent == record.granted) {
    record.in_bulk = false;
    flow.bulk.remove(state_.sends, slot);
  } else if (record.sent % state_.options.train_bytes < length) {
    // Its turn ends after a train: other messages of the flow go on.
    flow.bulk.remove(state_.sends, slot);
    flow.bulk.push_back(state_.sends, slot);
  }
}

}  // namespace zhinu::core

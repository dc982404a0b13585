// The frames of a packet that are not a flow's: acknowledgements, refusals, grants, credit.
#include <algorithm>
#include <bit>

#include "core/assembler.h"

namespace zhinu::core {

namespace {

constexpr std::uint32_t kAckRangesPerFrameMax = 16;
constexpr std::uint32_t kAckFramesPerPacketMax = 4;

}  // namespace

// Adds the refusals of these in paths. The sequence of the last one; kNoSlot if there are none.
std::uint32_t Assembler::add_refusals(Peer& peer, std::uint64_t paths, PacketBuilder& builder) {
  std::uint32_t last = kNoSlot;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;
       slot = state_.refusals[slot].next) {
    Refusal& refusal = state_.refusals[slot];
    if (((paths >> refusal.in_path) & 1) == 0) continue;
    refusal.sent = true;
    add_refusal(refusal, builder);
    last = refusal.sequence;
  }
  return last;
}

void Assembler::add_refusal(const Refusal& refusal, PacketBuilder& builder) {
  wire::Frame& frame = builder.add(wire::FrameKind::kRefuse, bytes_of(wire::FrameKind::kRefuse));
  frame.traffic_class = refusal.traffic_class;
  frame.code = refusal.code;
  frame.number = refusal.number;
  frame.token = refusal.token == kNoSlot ? token_of_run(refusal.count) : refusal.token;
}

void Assembler::add_endings(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes = bytes_of(wire::FrameKind::kRefuse);
  if (peer.endings_sent_to == peer.ending_sequence || !builder.fits(kBytes)) return;
  SentItem& item = builder.add_item(SentKind::kEndings, peer.endings_sent_to);
  item.offset = peer.endings_sent_to;
  for (std::uint32_t slot = peer.endings.head; slot != kNoSlot; slot = state_.refusals[slot].next) {
    const Refusal& ending = state_.refusals[slot];
    if (ending.sequence < peer.endings_sent_to) continue;
    if (kBytes > builder.room() || !builder.packet().has_room()) return;
    add_refusal(ending, builder);
    item.slot = ending.sequence;
    peer.endings_sent_to = ending.sequence + 1;
  }
  peer.endings_sent_to = peer.ending_sequence;
}

// The in paths that a packet acknowledges: of those that owe it, as many as one packet takes.
// Those with refusals need a record of the packet (`items`).
std::uint64_t Assembler::paths_to_ack(const Peer& peer, bool items) const {
  std::uint64_t owing = peer.ack_mask;
  if (!items) {
    for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;
         slot = state_.refusals[slot].next) {
      owing &= ~(1ULL << state_.refusals[slot].in_path);
    }
  }
  std::uint64_t paths = 0;
  for (std::uint32_t count = 0; owing != 0 && count < kAckFramesPerPacketMax; ++count) {
    paths |= owing & -owing;
    owing &= owing - 1;
  }
  return paths;
}

// A packet that acknowledges a path carries all its refusals that the peer may not know: an
// ACK for a message that was not held would end it there. They are few enough for any packet.
void Assembler::add_acks(Instant now, Peer& peer, PacketBuilder& builder, bool items) {
  const std::uint64_t paths = paths_to_ack(peer, items);
  const std::uint32_t refusals_to =
      peer.refusal_count > 0 ? add_refusals(peer, paths, builder) : kNoSlot;
  std::uint64_t acked = 0;
  for (std::uint64_t mask = paths; mask != 0; mask &= mask - 1) {
    const auto index = static_cast<std::uint32_t>(std::countr_zero(mask));
    InPath& path = *peer.in_paths[index];
    wire::Packet& packet = builder.packet();
    const std::uint32_t first = packet.ack_range_count;
    const std::uint32_t room =
        std::min(kAckRangesPerFrameMax, static_cast<std::uint32_t>(wire::kAckRangesMax) - first);
    if (room == 0 || !packet.has_room()) break;
    const std::uint32_t count = path.ranges(std::span(packet.ack_ranges).subspan(first, room));
    if (count == 0) {  // the packet that was refused was not recorded: it comes again
      peer.ack_mask &= ~(1ULL << index);
      continue;
    }
    const std::size_t bytes = bytes_of(wire::FrameKind::kAck) + (count - 1) * wire::kAckRangeBytes;
    if (bytes > builder.room()) break;
    wire::Frame& frame = builder.add(wire::FrameKind::kAck, bytes);
    frame.flags = static_cast<std::uint8_t>(index);
    frame.number = packet.ack_ranges[first].last;
    frame.token = first;
    frame.peer_token = count;
    const Duration delay = path.delay(now);
    frame.tag =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(delay.ns / 1'000, 0, 0xffffffffLL));
    frame.digest = path.ecn_marked();
    packet.ack_range_count += count;
    path.on_ack_sent();
    acked |= mask & -mask;
    state_.counters.add(Counter::kAcksSent);
  }
  if (refusals_to != kNoSlot) builder.add_item(SentKind::kRefusals, refusals_to).offset = acked;
  peer.ack_mask &= ~acked;
  if (peer.ack_mask == 0) {
    peer.ack_due_at = Instant::never();
  } else if (acked == 0) {
    peer.ack_due_at = now + state_.options.ack_delay;  // when a packet record may be free
  }
}

void Assembler::add_grants(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes = bytes_of(wire::FrameKind::kGrant);
  while (peer.retired_grant_count > 0 && kBytes <= builder.room() && builder.packet().has_room()) {
    const Peer::RetiredGrant& grant = peer.retired_grants[--peer.retired_grant_count];
    wire::Frame& frame = builder.add(wire::FrameKind::kGrant, kBytes);
    frame.traffic_class = grant.traffic_class;
    frame.token = grant.token;
    frame.number = grant.number;
  }
  while (!peer.grants.empty() && builder.fits(kBytes)) {
    const std::uint32_t slot = peer.grants.pop_front(state_.receives);
    ReceiveRecord& record = state_.receives[slot];
    record.grant_dirty = false;
    wire::Frame& frame = builder.add(wire::FrameKind::kGrant, kBytes);
    frame.traffic_class = record.traffic_class;
    frame.token = record.sender_token;
    frame.number = record.number;
    frame.offset = record.granted;
    builder.add_item(SentKind::kGrant, slot).generation = record.generation;
    state_.counters.add(Counter::kGrantsSent);
  }
}

void Assembler::add_cancels(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes = bytes_of(wire::FrameKind::kCancel);
  while (!peer.cancels.empty() && builder.fits(kBytes)) {
    const std::uint32_t slot = peer.cancels.pop_front(state_.sends);
    const SendRecord& record = state_.sends[slot];
    wire::Frame& frame = builder.add(wire::FrameKind::kCancel, kBytes);
    frame.traffic_class = class_of(record.flow);
    frame.code = record.status == Errc::kOk ? Errc::kCancelled : record.status;
    frame.number = record.number;
    builder.add_item(SentKind::kCancel, slot);
  }
}

void Assembler::add_credits(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes =
      bytes_of(wire::FrameKind::kCredit) + bytes_of(wire::FrameKind::kCreditProbe);
  while (!peer.credits.empty() && builder.fits(kBytes)) {
    const std::uint32_t slot = peer.credits.pop_front(state_.channels);
    Channel& channel = state_.channels[slot];
    channel.in_credit_queue = false;
    if (channel.credit_dirty) {
      channel.credit_dirty = false;
      wire::Frame& frame =
          builder.add(wire::FrameKind::kCredit, bytes_of(wire::FrameKind::kCredit));
      frame.traffic_class = class_of(channel.flow);
      frame.communicator = channel.communicator;
      frame.offset = channel.credit_given;
      builder.add_item(SentKind::kCredit, slot).generation = channel.generation;
    }
    if (channel.probe_due && builder.packet().has_room()) {
      channel.probe_due = false;
      wire::Frame& frame =
          builder.add(wire::FrameKind::kCreditProbe, bytes_of(wire::FrameKind::kCreditProbe));
      frame.traffic_class = class_of(channel.flow);
      frame.communicator = channel.communicator;
      state_.counters.add(Counter::kCreditProbes);
    }
  }
}

void Assembler::add_aborts(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes = bytes_of(wire::FrameKind::kAbort);
  if (!peer.aborts_due) return;
  const std::size_t word = peer.id.value / 64;
  const std::uint64_t bit = 1ULL << (peer.id.value % 64);
  for (Communicator* communicator = state_.aborted_head; communicator != nullptr;
       communicator = communicator->aborted_next) {
    if (((communicator->abort_told[word] | communicator->abort_sent[word]) & bit) != 0) continue;
    if (!builder.fits(kBytes)) return;
    communicator->abort_sent[word] |= bit;
    wire::Frame& frame = builder.add(wire::FrameKind::kAbort, kBytes);
    frame.communicator = communicator->id.value;
    frame.code = communicator->abort_code;
    frame.tag = communicator->abort_reporter;
    frame.token = communicator->abort_other;
    frame.digest = communicator->abort_reporter_digest;
    frame.number = communicator->abort_other_digest;
    builder.add_item(SentKind::kAbort, communicator->id.value);
  }
  peer.aborts_due = false;
}

void Assembler::add_probe_answers(Peer& peer, PacketBuilder& builder) {
  constexpr std::size_t kBytes = bytes_of(wire::FrameKind::kPathResponse);
  while (peer.probe_answer_count > 0 && kBytes <= builder.room() && builder.packet().has_room()) {
    const Peer::ProbeAnswer& answer = peer.probe_answers[--peer.probe_answer_count];
    wire::Frame& frame = builder.add(wire::FrameKind::kPathResponse, kBytes);
    frame.flags = answer.path;
    frame.offset = answer.challenge;
  }
}

}  // namespace zhinu::core

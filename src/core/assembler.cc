#include "core/assembler.h"

#include <algorithm>
#include <bit>

namespace zhinu::core {

namespace {

// Bytes per unit of class weight and turn: weight 64 has turns of 64 KiB.
constexpr std::int64_t kWeightUnitBytes = 1'024;
constexpr std::uint32_t kAckRangesPerFrameMax = 16;
constexpr std::uint32_t kAckFramesPerPacketMax = 4;
constexpr std::uint64_t kNoChallenge = 0;

constexpr std::size_t bytes_of(wire::FrameKind kind) {
  return wire::kFrameBytes[static_cast<std::size_t>(kind)];
}

}  // namespace

bool Assembler::poll_transmit(Instant now, Transmit& out) {
  return next_control(now, out) || next_data(now, out);
}

std::uint32_t Assembler::packet_limit(const Peer& peer, std::uint8_t path) const {
  return std::min(peer.paths.config(path).packet_bytes_max, peer.session.packet_bytes_max);
}

bool Assembler::control_due(Instant now, const Peer& peer) const {
  if (peer.close_code.has_value()) return true;
  if (peer.state != PeerState::kUp) return false;
  if (!peer.grants.empty() || !peer.cancels.empty() || !peer.credits.empty()) return true;
  if (peer.probe_answer_count > 0 || peer.aborts_due) return true;
  if (peer.endings_sent_to < peer.ending_sequence || peer.retired_grant_count > 0) return true;
  return peer.ack_due_at <= now;
}

// Control that only a packet with a record may carry, while there is no record.
bool Assembler::waits_for_record(const Peer& peer) const {
  if (peer.state != PeerState::kUp || state_.sent_packets.available() >= kControlReserve) {
    return false;
  }
  return !peer.grants.empty() || !peer.cancels.empty() || !peer.credits.empty() ||
         peer.endings_sent_to != peer.ending_sequence || peer.aborts_due;
}

bool Assembler::next_control(Instant now, Transmit& out) {
  const PeerId last = state_.control_tail;
  while (!state_.control_head.is_none()) {
    Peer& peer = state_.peer(state_.control_head);
    if (peer.has_session() && send_path_probe(now, peer, out)) return true;
    if (control_due(now, peer) && send_control(now, peer, out)) return true;
    state_.control_head = peer.control_ring_next;
    if (state_.control_head.is_none()) state_.control_tail = PeerId::none();
    peer.in_control_ring = false;
    state_.touch_timer(peer);
    // The ACK that gives a record back says nothing of control.
    if (waits_for_record(peer)) state_.want_control(peer);
    if (peer.id == last) break;
  }
  return false;
}

// Probes are bound to their path: of a suspect or returning one, or to draw an ACK. They have
// nothing to repeat, so they need no record: a full pool cannot silence an endpoint. Only one
// that is alone on its path gets one, so that it is sent again when it is lost.
bool Assembler::send_path_probe(Instant now, Peer& peer, Transmit& out) {
  std::optional<PathProbe> probe = peer.paths.poll_probe(now);
  for (std::uint32_t i = 0; i < peer.paths.size() && !probe.has_value(); ++i) {
    if (!peer.flights[i].probe_wanted) continue;
    peer.flights[i].probe_wanted = false;
    probe = PathProbe{static_cast<std::uint8_t>(i), kNoChallenge, 0};
  }
  if (!probe.has_value()) return false;
  PathFlight& flight = peer.flights[probe->path];
  const bool alone = probe->challenge == kNoChallenge && flight.eliciting == 0;
  const std::uint32_t sent_slot = alone ? state_.sent_packets.acquire_raw() : kNoSlot;
  SentPacket& sent = sent_slot == kNoSlot ? scratch_ : state_.sent_packets[sent_slot];
  PacketBuilder builder(packet_, sent, packet_limit(peer, probe->path));
  wire::Frame& frame =
      builder.add(wire::FrameKind::kPathProbe, bytes_of(wire::FrameKind::kPathProbe));
  frame.flags = probe->path;
  frame.offset = probe->challenge;
  if (sent_slot != kNoSlot) builder.add_item(SentKind::kProbe, kNoSlot);
  const std::uint32_t pad_to = std::min(probe->pad_to_bytes, builder.limit());
  if (pad_to > builder.bytes()) {
    const std::uint32_t padding = pad_to - builder.bytes();
    builder.add(wire::FrameKind::kPadding, padding).length = padding;
  }
  flight.last_sent_at = now;
  finish(now, peer, probe->path, TrafficClass::kControl, builder, sent_slot, out);
  return true;
}

bool Assembler::send_control(Instant now, Peer& peer, Transmit& out) {
  const auto path = peer.paths.best();
  if (!path.has_value()) return false;
  const std::uint32_t sent_slot = state_.sent_packets.available() < kControlReserve
                                      ? kNoSlot
                                      : state_.sent_packets.acquire_raw();
  SentPacket& sent = sent_slot == kNoSlot ? scratch_ : state_.sent_packets[sent_slot];
  PacketBuilder builder(packet_, sent, packet_limit(peer, *path));
  if (peer.close_code.has_value()) {
    wire::Frame& frame = builder.add(wire::FrameKind::kClose, bytes_of(wire::FrameKind::kClose));
    frame.code = *peer.close_code;
    if (--peer.close_repeats == 0) peer.close_code.reset();
  } else {
    const bool items = sent_slot != kNoSlot;
    add_acks(now, peer, builder, items);
    add_probe_answers(peer, builder);
    if (items) {
      add_aborts(peer, builder);
      add_cancels(peer, builder);
      add_endings(peer, builder);
      add_grants(peer, builder);
      add_credits(peer, builder);
    }
  }
  if (builder.empty()) {
    if (sent_slot != kNoSlot) state_.sent_packets.release(sent_slot);
    return false;
  }
  finish(now, peer, *path, TrafficClass::kControl, builder, sent_slot, out);
  return true;
}

void Assembler::leave_ring(State::FlowRing& ring) {
  Flow& flow = state_.flow(ring.head);
  ring.head = flow.ring_next;
  if (ring.head.is_none()) ring.tail = FlowId::none();
  flow.in_ring = false;
  --state_.flows_in_rings;
}

bool Assembler::next_data(Instant now, Transmit& out) {
  if (state_.sent_packets.available() < kRepeatReserve) give_back_lost();
  // The flows stay in their rings: nobody would put back what left for want of a record.
  if (state_.sent_packets.available() < kDataReserve) return next_repeat(now, out);
  while (state_.flows_in_rings > 0) {
    State::FlowRing& ring = state_.rings[ring_];
    if (ring.head.is_none() || ring.deficit_bytes <= 0) {
      if (ring.head.is_none()) {
        ring.deficit_bytes = 0;
      } else {
        ring.deficit_bytes += state_.options.class_weights[ring_] * kWeightUnitBytes;
        // Still in debt: the others go on meanwhile.
        if (ring.deficit_bytes > 0) continue;
      }
      ring_ = ring_ + 1U < kTrafficClasses ? static_cast<std::uint8_t>(ring_ + 1) : 1;
      continue;
    }
    const FlowId id = ring.head;
    Flow& flow = state_.flow(id);
    if (send_data(now, id, out)) {
      const auto bytes = static_cast<std::int64_t>(out_bytes_);
      ring.deficit_bytes -= bytes;
      if (ring.deficit_bytes <= 0) {
        ring_ = ring_ + 1U < kTrafficClasses ? static_cast<std::uint8_t>(ring_ + 1) : 1;
      }
      flow.turn_bytes -= std::min<std::uint64_t>(flow.turn_bytes, out_bytes_);
      if (flow.turn_bytes == 0) {
        leave_ring(ring);
        outgoing_.activate(id);
      }
      return true;
    }
    leave_ring(ring);  // comes back with the event that gives it something to send
  }
  return false;
}

// All records may be with packets that were lost. They would give them back when they are sent
// again, but that takes one, or more on a path with smaller packets. Where nothing is under way
// that will be acknowledged, nothing else gives any back.
void Assembler::give_back_lost() {
  for (const State::FlowRing& ring : state_.rings) {
    for (FlowId id = ring.head; !id.is_none(); id = state_.flow(id).ring_next) {
      if (state_.flow(id).lost.empty() || state_.peer(peer_of(id)).eliciting > 0) continue;
      outgoing_.forget_lost(id);
    }
  }
}

// With hardly a record left only what a lost packet left goes, as that gives one back.
bool Assembler::next_repeat(Instant now, Transmit& out) {
  if (state_.sent_packets.available() < kRepeatReserve) return false;
  for (const State::FlowRing& ring : state_.rings) {
    for (FlowId id = ring.head; !id.is_none(); id = state_.flow(id).ring_next) {
      if (!state_.flow(id).lost.empty() && send_data(now, id, out)) return true;
    }
  }
  return false;
}

bool Assembler::send_data(Instant now, FlowId id, Transmit& out) {
  Flow& flow = state_.flow(id);
  Peer& peer = state_.peer(peer_of(id));
  if (peer.state != PeerState::kUp || !outgoing_.sendable(flow)) return false;
  const auto path = peer.paths.choose(peer.session.packet_bytes_max);
  if (!path.has_value()) return false;
  const std::uint32_t sent_slot = state_.sent_packets.acquire_raw();
  ZHINU_ASSERT(sent_slot != kNoSlot);
  PacketBuilder builder(packet_, state_.sent_packets[sent_slot], packet_limit(peer, *path));
  if (peer.ack_mask != 0) add_acks(now, peer, builder, true);
  if (!peer.grants.empty()) add_grants(peer, builder);
  outgoing_.fill(now, flow, id, builder);
  if (builder.empty()) {
    state_.sent_packets.release(sent_slot);
    return false;
  }
  finish(now, peer, *path, class_of(id), builder, sent_slot, out);
  return true;
}

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

// Numbers the packet, remembers what it carries, and addresses it.
void Assembler::finish(Instant now, Peer& peer, std::uint8_t path, TrafficClass traffic_class,
                       PacketBuilder& builder, std::uint32_t sent_slot, Transmit& out) {
  const PathTable::Number number = peer.paths.next_number(path);
  if (number.skipped.has_value()) recovery_.on_skipped(now, peer, path, *number.skipped);
  // A packet of a data class may hold nothing but ACKs after all.
  const TrafficClass paid_by = builder.has_items() ? traffic_class : TrafficClass::kControl;
  packet_.header.traffic_class = paid_by;
  packet_.header.key_phase = peer.session.sealer.phase_to_send(now);
  packet_.header.path = path;
  packet_.header.connection = peer.session.remote_connection;
  packet_.header.number = number.value;
  if (builder.has_items()) {
    SentPacket& sent = state_.sent_packets[sent_slot];
    sent.next = kNoSlot;
    sent.number = number.value;
    sent.sent_at = now;
    sent.bytes = builder.bytes();
    sent.traffic_class = paid_by;
    sent.path = path;
    sent.skipped = false;
    peer.paths.on_sent(now, path, builder.bytes());
    recovery_.on_sent(peer, sent_slot);
  } else if (sent_slot != kNoSlot) {
    state_.sent_packets.release(sent_slot);
  }
  state_.counters.add(Counter::kPacketsSent);
  state_.counters.add(Counter::kBytesSent, builder.bytes());
  out_bytes_ = builder.bytes();
  const PathConfig& config = peer.paths.config(path);
  out.route = Route{peer.id, config.remote, config.key, config.nic, path, paid_by};
  out.packet = &packet_;
}

}  // namespace zhinu::core

#include "core/assembler.h"

#include <algorithm>
#include <bit>

namespace zhinu::core {

namespace {

// Bytes per unit of class weight and turn: weight 64 has turns of 64 KiB.
constexpr std::int64_t kWeightUnitBytes = 1'024;
constexpr std::uint64_t kNoChallenge = 0;

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

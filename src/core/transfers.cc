#include "core/transfers.h"

#include <algorithm>
#include <cstring>

namespace zhinu::core {

namespace {

// A granted sender that was silent this long no longer counts against the window.
constexpr Duration kStallAfter = milliseconds(10);
constexpr std::uint64_t kQuantumMin = 8'192;
constexpr std::uint64_t kQuantumMax = 64 * 1024;

// Grants end where segments may end.
constexpr std::uint64_t quantum_of(std::uint64_t window) {
  const std::uint64_t bytes = std::clamp(window / 8, kQuantumMin, kQuantumMax);
  return bytes - bytes % wire::kSegmentUnitBytes;
}

}  // namespace

Transfers::Transfers(State& state)
    : state_(state), quantum_(quantum_of(state.options.grant_window_bytes)) {
  active_.reserve(state.options.segment_maps_max);
}

std::uint64_t Transfers::pending(const ReceiveRecord& record) const {
  return record.stalled ? 0 : record.granted - record.map.delivered();
}

void Transfers::start(Instant now, std::uint32_t slot, FlowId flow, std::uint64_t number,
                      std::uint32_t token, std::uint64_t bytes) {
  ReceiveRecord& record = state_.receives[slot];
  record.open_transfer();
  record.state = ReceiveState::kMatched;
  record.peer = peer_of(flow);
  record.traffic_class = class_of(flow);
  record.number = number;
  record.sender_token = token;
  record.message_bytes = bytes;
  record.granted = 0;
  state_.incoming_index.insert(State::incoming_key(flow, number), slot);
  if (bytes == 0) return complete(now, slot);
  begin(now, slot);
}

void Transfers::begin(Instant now, std::uint32_t slot) {
  ReceiveRecord& record = state_.receives[slot];
  const std::uint32_t map_slot = state_.acquire_map();
  if (map_slot == kNoSlot) {
    waiting_.push_back(state_.receives, slot);
    return;
  }
  record.map_slot = map_slot;
  record.map = SegmentMap(state_.map_words_of(map_slot), record.message_bytes);
  record.state = ReceiveState::kIncoming;
  record.last_arrival = now;
  active_.push_back(slot);
  want_grants(slot);
  // Whatever the window allows: what was refused may come again, as there is a buffer now.
  if (record.refused) send_grant(slot);
  pump(now);
}

void Transfers::want_grants(std::uint32_t slot) {
  ReceiveRecord& record = state_.receives[slot];
  if (record.in_flow_list || record.granted == record.message_bytes) return;
  const FlowId id = flow_id(record.peer, record.traffic_class);
  Flow& flow = state_.flow(id);
  record.in_flow_list = true;
  flow.incoming_messages.push_back(state_.receives, slot);
  if (flow.in_grant_ring) return;
  flow.in_grant_ring = true;
  flow.grant_ring_next = FlowId::none();
  if (ring_tail_.is_none()) {
    ring_head_ = id;
  } else {
    state_.flow(ring_tail_).grant_ring_next = id;
  }
  ring_tail_ = id;
}

void Transfers::remove_from_flow(std::uint32_t slot) {
  ReceiveRecord& record = state_.receives[slot];
  if (!record.in_flow_list) return;
  record.in_flow_list = false;
  state_.flow(flow_id(record.peer, record.traffic_class))
      .incoming_messages.remove(state_.receives, slot);
}

void Transfers::pump(Instant now) {
  const std::uint64_t window = state_.options.grant_window_bytes;
  while (!ring_head_.is_none()) {
    // Half a quantum at least: crumbs would cost a frame for every arrival.
    const std::uint64_t room = outstanding_ < window ? window - outstanding_ : 0;
    if (outstanding_ > 0 && room < quantum_ / 2) {
      // Someone waits while all is granted away: look for silent senders in a while.
      if (stall_check_at_ == Instant::never()) stall_check_at_ = now + kStallAfter;
      return;
    }
    const FlowId id = ring_head_;
    Flow& flow = state_.flow(id);
    ring_head_ = flow.grant_ring_next;
    if (ring_head_.is_none()) ring_tail_ = FlowId::none();
    flow.in_grant_ring = false;
    if (!grant_one(id, outstanding_ > 0 ? std::min(room, quantum_) : quantum_)) continue;
    // Back to the end of the ring while its messages want more.
    flow.in_grant_ring = true;
    flow.grant_ring_next = FlowId::none();
    if (ring_tail_.is_none()) {
      ring_head_ = id;
    } else {
      state_.flow(ring_tail_).grant_ring_next = id;
    }
    ring_tail_ = id;
  }
}

void Transfers::send_grant(std::uint32_t slot) {
  ReceiveRecord& record = state_.receives[slot];
  if (record.grant_dirty) return;
  record.grant_dirty = true;
  Peer& peer = state_.peer(record.peer);
  peer.grants.push_back(state_.receives, slot);
  state_.want_control(peer);
}

// Grants up to `bytes` to the next message of the flow. False when none wants one.
bool Transfers::grant_one(FlowId id, std::uint64_t bytes) {
  bytes -= bytes % wire::kSegmentUnitBytes;
  Flow& flow = state_.flow(id);
  while (!flow.incoming_messages.empty()) {
    const std::uint32_t slot = flow.incoming_messages.head;
    ReceiveRecord& record = state_.receives[slot];
    remove_from_flow(slot);
    const std::uint64_t limit = std::min(record.message_bytes, record.map.limit());
    if (record.granted >= limit) continue;  // comes back when its map has moved on
    const std::uint64_t before = pending(record);
    record.granted = std::min(limit, record.granted + bytes);
    outstanding_ += pending(record) - before;
    send_grant(slot);
    if (record.granted < record.message_bytes) {
      record.in_flow_list = true;
      flow.incoming_messages.push_back(state_.receives, slot);
    }
    return !flow.incoming_messages.empty();
  }
  return false;
}

Taken Transfers::on_segment(Instant now, FlowId id, std::uint64_t number, std::uint64_t offset,
                            ByteSpan payload) {
  Flow& flow = state_.flow(id);
  std::uint32_t slot = flow.cached_receive;
  if (slot == kNoSlot || flow.cached_number != number) {
    slot = state_.incoming_index.find(State::incoming_key(id, number));
  }
  if (slot == kNoSlot) {
    const NumberWindow::Seen seen = flow.incoming.look(number);
    if (seen == NumberWindow::Seen::kSeen) return on_late_segment(id, number);
    // Its announcement was not held, and perhaps came in this very packet, which must be
    // acknowledged for the sender to hear so. Refused as a segment: a refusal of the number is
    // forgotten when the announcement comes in, and this segment is not here even then.
    if (seen == NumberWindow::Seen::kFresh && flow.not_held.contains(number)) {
      return refuse(id, number, kUnknownToken, Errc::kNotHeld) ? Taken::kYes : Taken::kNoRoom;
    }
    state_.counters.add(Counter::kDropEarlySegment);
    return Taken::kNoRoom;
  }
  if ((slot & State::kUnexpectedBit) != 0 ||
      state_.receives[slot].state == ReceiveState::kMatched) {
    return refuse_segments(id, slot, number) ? Taken::kYes : Taken::kNoRoom;
  }
  ReceiveRecord& record = state_.receives[slot];
  ZHINU_ASSERT(record.state == ReceiveState::kIncoming);
  if (record.revoked) {
    if (!end(now, slot, Errc::kRegionRefused, Errc::kRegionRefused)) return Taken::kNoRoom;
    return on_late_segment(id, number);
  }
  const Status status = record.map.check(offset, payload.size());
  if (!status.ok()) return status.error() == Errc::kFull ? Taken::kNoRoom : Taken::kBad;
  flow.cached_number = number;
  flow.cached_receive = slot;
  const std::uint64_t before = pending(record);
  std::byte* const buffer = record.buffer;
  const std::byte* const bytes = payload.data();
  const std::uint64_t fresh = record.map.take(
      offset, payload.size(), [buffer, bytes, offset](std::uint64_t at, std::uint64_t length) {
        std::memcpy(buffer + at, bytes + (at - offset), length);
      });
  record.last_arrival = now;
  record.stalled = false;
  // Sent on buffer credit, ahead of the grant.
  record.granted = std::max(record.granted, offset + payload.size());
  outstanding_ = outstanding_ - before + pending(record);
  if (fresh == 0) {
    state_.counters.add(Counter::kDuplicateSegments);
    return Taken::kDuplicate;
  }
  if (record.map.complete()) {
    complete(now, slot);
  } else {
    want_grants(slot);
  }
  pump(now);
  return Taken::kYes;
}

// Takes the record out of every list; its fate is the caller's.
void Transfers::finish(Instant now, std::uint32_t slot) {
  ReceiveRecord& record = state_.receives[slot];
  const FlowId id = flow_id(record.peer, record.traffic_class);
  Flow& flow = state_.flow(id);
  state_.incoming_index.erase(State::incoming_key(id, record.number));
  if (flow.cached_receive == slot) flow.cached_receive = kNoSlot;
  if (record.grant_dirty) {
    record.grant_dirty = false;
    state_.peer(record.peer).grants.remove(state_.receives, slot);
  }
  if (record.state == ReceiveState::kMatched && record.message_bytes > 0) {
    waiting_.remove(state_.receives, slot);
    return;
  }
  if (record.state != ReceiveState::kIncoming) return;
  remove_from_flow(slot);
  outstanding_ -= pending(record);
  const auto at = std::find(active_.begin(), active_.end(), slot);
  ZHINU_ASSERT(at != active_.end());
  *at = active_.back();
  active_.pop_back();
  state_.release_map(record.map_slot);
  record.map_slot = kNoSlot;
  record.map = SegmentMap();
  // Any state but matched and incoming: begin() below must not find it again.
  record.state = ReceiveState::kWaiting;
  if (!waiting_.empty()) begin(now, waiting_.pop_front(state_.receives));
}

void Transfers::complete(Instant now, std::uint32_t slot) {
  finish(now, slot);
  ReceiveRecord& record = state_.receives[slot];
  state_.counters.add(Counter::kMessagesReceived);
  if (!record.notify) return state_.complete_receive(slot, Errc::kOk, record.message_bytes);
  record.state = ReceiveState::kNotifying;
  if (!emit_notification(slot)) {
    notifying_.push_back(state_.receives, slot);
  } else {
    state_.complete_receive(slot, Errc::kOk, record.message_bytes);
    flush_notifications();
  }
}

bool Transfers::end(Instant now, std::uint32_t slot, Errc own_code, Errc peer_code) {
  ReceiveRecord& record = state_.receives[slot];
  const FlowId id = flow_id(record.peer, record.traffic_class);
  if (!tell_end(id, record.number, record.sender_token, peer_code)) return false;
  drop(now, slot, own_code);
  return true;
}

void Transfers::drop(Instant now, std::uint32_t slot, Errc code) {
  ReceiveRecord& record = state_.receives[slot];
  if (record.kind == ReceiveKind::kIncomingWrite && record.ordered) {
    // What it was behind, its successors must wait for now.
    state_.flow(flow_id(record.peer, record.traffic_class)).give_up(record.number);
  }
  if (record.state == ReceiveState::kNotifying) {
    notifying_.remove(state_.receives, slot);
  } else {
    finish(now, slot);
  }
  state_.complete_receive(slot, code, 0);
  flush_notifications();
  pump(now);
}

void Transfers::revoke(Instant now, std::uint32_t slot) {
  if (end(now, slot, Errc::kRegionRefused, Errc::kRegionRefused)) return;
  state_.receives[slot].revoked = true;
}

void Transfers::announced_again(FlowId flow, std::uint32_t token, std::uint64_t number) {
  if (state_.incoming_index.find(State::incoming_key(flow, number)) != kNoSlot) return;
  Peer& peer = state_.peer(peer_of(flow));
  if (peer.retired_grant_count == Peer::kRetiredGrantsMax) return;
  peer.retired_grants[peer.retired_grant_count++] = {class_of(flow), token, number};
  state_.want_control(peer);
}

void Transfers::repeat_grants(FlowId id, std::uint16_t communicator) {
  for (const std::uint32_t slot : active_) {
    const ReceiveRecord& record = state_.receives[slot];
    if (flow_id(record.peer, record.traffic_class) != id) continue;
    if (record.communicator == communicator && record.granted > 0) send_grant(slot);
  }
}

void Transfers::handle_timeout(Instant now) {
  if (now < stall_check_at_) return;
  stall_check_at_ = Instant::never();
  for (const std::uint32_t slot : active_) {
    ReceiveRecord& record = state_.receives[slot];
    if (record.stalled || now < record.last_arrival + kStallAfter) continue;
    outstanding_ -= pending(record);
    record.stalled = true;
  }
  pump(now);
}

}  // namespace zhinu::core

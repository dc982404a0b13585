// What is not taken, and how its sender learns of it.
#include "core/transfers.h"

namespace zhinu::core {

bool Transfers::refuse(FlowId flow, std::uint64_t number, std::uint32_t token, Errc code) {
  Peer& peer = state_.peer(peer_of(flow));
  Refusal refusal;
  refusal.traffic_class = class_of(flow);
  refusal.in_path = state_.arriving_path;
  refusal.code = code;
  refusal.number = number;
  refusal.token = token;
  if (is_refused(peer, refusal) || prolongs_run(peer, refusal)) return true;
  if (peer.refusal_count >= kRefusalsPerPeerMax || !state_.has_room_for_refusal()) return false;
  const std::uint32_t slot = state_.refusals.acquire();
  refusal.generation = state_.refusals[slot].generation;
  refusal.sequence = peer.refusal_sequence++;
  state_.refusals[slot] = refusal;
  peer.refusals.push_back(state_.refusals, slot);
  ++peer.refusal_count;
  if (code == Errc::kNotHeld && token == kNoSlot) state_.counters.add(Counter::kEagerNotHeld);
  return true;
}

// One refusal serves all that arrives on a path until it is sent.
bool Transfers::is_refused(const Peer& peer, const Refusal& refusal) const {
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;
       slot = state_.refusals[slot].next) {
    const Refusal& other = state_.refusals[slot];
    if (!other.sent && refusal.number - other.number < other.count &&
        other.token == refusal.token && other.traffic_class == refusal.traffic_class &&
        other.in_path == refusal.in_path && other.code == refusal.code) {
      return true;
    }
  }
  return false;
}

// The numbers of one packet in a row share a refusal.
bool Transfers::prolongs_run(Peer& peer, const Refusal& refusal) {
  if (refusal.token != kNoSlot || peer.refusals.empty()) return false;
  Refusal& last = state_.refusals[peer.refusals.tail];
  const bool fits = last.sequence >= peer.packet_refusals && !last.sent && last.token == kNoSlot &&
                    last.traffic_class == refusal.traffic_class &&
                    last.in_path == refusal.in_path && last.code == refusal.code &&
                    last.number + last.count == refusal.number && last.count < kRefusedRunMax;
  if (fits) ++last.count;
  return fits;
}

bool Transfers::refuse_segments(FlowId flow, std::uint32_t slot, std::uint64_t number) {
  if ((slot & State::kUnexpectedBit) != 0) {
    Unexpected& waiting = state_.unexpected[slot & ~State::kUnexpectedBit];
    waiting.refused = true;
    return refuse(flow, number, waiting.sender_token, Errc::kNotHeld);
  }
  ReceiveRecord& record = state_.receives[slot];
  record.refused = true;
  return refuse(flow, number, record.sender_token, Errc::kNotHeld);
}

// Of a message that is over. One that ended early and whose sender may not have heard of it must
// not be acknowledged without that: the sender would take it as delivered.
Taken Transfers::on_late_segment(FlowId flow, std::uint64_t number) {
  state_.counters.add(Counter::kLateSegments);
  for (std::uint32_t slot = state_.peer(peer_of(flow)).endings.head; slot != kNoSlot;
       slot = state_.refusals[slot].next) {
    const Refusal& ending = state_.refusals[slot];
    if (ending.number != number || ending.traffic_class != class_of(flow)) continue;
    return refuse(flow, number, ending.token, ending.code) ? Taken::kYes : Taken::kNoRoom;
  }
  return Taken::kDuplicate;
}

void Transfers::remove_refusals_from(Peer& peer, std::uint32_t first) {
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;) {
    const std::uint32_t next = state_.refusals[slot].next;
    if (state_.refusals[slot].sequence >= first) {
      peer.refusals.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
      --peer.refusal_count;
    } else {
      previous = slot;
    }
    slot = next;
  }
}

bool Transfers::tell_end(FlowId flow, std::uint64_t number, std::uint32_t token, Errc code) {
  ZHINU_ASSERT(token != kNoSlot);
  ZHINU_ASSERT(code != Errc::kNotHeld);
  Peer& peer = state_.peer(peer_of(flow));
  const std::uint32_t slot = state_.refusals.acquire();
  if (slot == kNoSlot) return false;
  Refusal& ending = state_.refusals[slot];
  ending.traffic_class = class_of(flow);
  ending.code = code;
  ending.number = number;
  ending.token = token;
  ending.sequence = peer.ending_sequence++;
  peer.endings.push_back(state_.refusals, slot);
  state_.want_control(peer);
  return true;
}

void Transfers::remove_refusal(FlowId flow, std::uint64_t number) {
  Peer& peer = state_.peer(peer_of(flow));
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;) {
    Refusal& refusal = state_.refusals[slot];
    const std::uint32_t next = refusal.next;
    const bool holds = refusal.token == kNoSlot && number - refusal.number < refusal.count &&
                       refusal.traffic_class == class_of(flow);
    if (holds && refusal.count == 1) {
      peer.refusals.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
      --peer.refusal_count;
    } else {
      if (holds) take_out(peer, slot, number);
      previous = slot;
    }
    slot = next;
  }
}

// Leaves a run without `number`: shorter, or in two. Without room for the second part it stays
// whole: its sender then announces the message once more, which does no harm.
void Transfers::take_out(Peer& peer, std::uint32_t slot, std::uint64_t number) {
  Refusal& refusal = state_.refusals[slot];
  const auto before = static_cast<std::uint32_t>(number - refusal.number);
  const std::uint32_t behind = refusal.count - before - 1;
  if (before == 0) {
    ++refusal.number;
    --refusal.count;
  } else if (behind == 0) {
    --refusal.count;
  } else if (peer.refusal_count < kRefusalsPerPeerMax) {
    const std::uint32_t second = state_.refusals.acquire();
    if (second == kNoSlot) return;
    Refusal& part = state_.refusals[second];
    const std::uint32_t generation = part.generation;
    part = refusal;
    part.generation = generation;
    part.number = number + 1;
    part.count = behind;
    refusal.count = before;
    peer.refusals.insert_after(state_.refusals, slot, second);
    ++peer.refusal_count;
  }
}

}  // namespace zhinu::core

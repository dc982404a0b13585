// What is not taken, and how its sender learns of it.
#include "core/transfers.h"

namespace zhinu::core {

namespace {

// Refusals that arriving packets may cause per peer; more and the packets count as lost. They
// and an ACK fit the smallest packet.
constexpr std::uint32_t kRefusalsPerPeerMax = 32;

}  // namespace

bool Transfers::refuse(FlowId flow, std::uint64_t number, std::uint32_t token, Errc code) {
  Peer& peer = state_.peer(peer_of(flow));
  Refusal refusal;
  refusal.traffic_class = class_of(flow);
  refusal.code = code;
  refusal.number = number;
  refusal.token = token;
  refusal.in_path = state_.arriving_path;
  if (token != kNoSlot) forget_segments_refusal(peer, refusal);
  if (peer.refusal_count >= kRefusalsPerPeerMax) return false;
  const std::uint32_t slot = state_.refusals.acquire();
  if (slot == kNoSlot) return false;
  refusal.generation = state_.refusals[slot].generation;
  refusal.sequence = peer.refusal_sequence++;
  state_.refusals[slot] = refusal;
  peer.refusals.push_back(state_.refusals, slot);
  ++peer.refusal_count;
  peer.refusals_due = true;
  state_.want_control(peer);
  if (code == Errc::kNotHeld && token == kNoSlot) state_.counters.add(Counter::kEagerNotHeld);
  return true;
}

// One refusal serves all segments of a message, if it is as new as the last of them.
void Transfers::forget_segments_refusal(Peer& peer, const Refusal& renewed) {
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;
       slot = state_.refusals[slot].next) {
    const Refusal& refusal = state_.refusals[slot];
    if (refusal.number == renewed.number && refusal.token == renewed.token &&
        refusal.traffic_class == renewed.traffic_class) {
      peer.refusals.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
      --peer.refusal_count;
      return;
    }
    previous = slot;
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
    const Refusal& refusal = state_.refusals[slot];
    const std::uint32_t next = refusal.next;
    if (refusal.number == number && refusal.token == kNoSlot &&
        refusal.traffic_class == class_of(flow)) {
      peer.refusals.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
      --peer.refusal_count;
    } else {
      previous = slot;
    }
    slot = next;
  }
}

}  // namespace zhinu::core

// Messages that nothing can take yet: unexpected ones, parked ones behind an earlier
// message that is missing, and orphans whose communicator does not exist yet.
#include "core/incoming.h"

namespace zhinu::core {

// True while an earlier message of the communicator is missing. One that was given up
// before its turn does not say what it was itself behind: until every number below it
// was seen, that may be missing too.
bool Incoming::waits_for_another(const Flow& flow, std::uint64_t number, std::uint8_t order) {
  if (flow.incoming.gate(number, order) == NumberWindow::Gate::kWait) return true;
  if (order == 0 || order > number) return false;
  const std::uint64_t before = number - order;
  return before < flow.void_end && before >= flow.incoming.floor();
}

wire::Frame Incoming::frame_of(const Unexpected& waiting) {
  const wire::FrameKind whole =
      waiting.digest != 0 ? wire::FrameKind::kMessageDigest : wire::FrameKind::kMessage;
  return {.kind = waiting.announced ? wire::FrameKind::kAnnounce : whole,
          .order = waiting.order,
          .communicator = waiting.communicator,
          .tag = waiting.tag,
          .digest = waiting.digest,
          .number = waiting.number,
          .token = waiting.sender_token,
          .length = waiting.length};
}

// A message is parked behind an earlier one of its communicator that is itself parked.
bool Incoming::behind_parked(const Flow& flow, std::uint16_t communicator,
                             std::uint64_t number) const {
  for (std::uint32_t slot = flow.parked.head; slot != kNoSlot;
       slot = state_.unexpected[slot].list_next) {
    const Unexpected& parked = state_.unexpected[slot];
    if (parked.communicator == communicator && parked.number < number) return true;
  }
  return false;
}

bool Incoming::may_hold(const Peer& peer, const Communicator* communicator,
                        std::uint64_t bytes) const {
  if (peer.held_bytes + bytes <= state_.options.eager_budget_bytes) return true;
  return communicator != nullptr &&
         communicator->held_bytes + bytes <= state_.options.communicator_reserve_bytes;
}

// Remembers a message that no receive wants yet. kNoSlot when there is no room.
std::uint32_t Incoming::hold(FlowId flow, const wire::Frame& message, Communicator* communicator) {
  const bool announced = message.kind == wire::FrameKind::kAnnounce;
  Peer& peer = state_.peer(peer_of(flow));
  if (!announced) {
    if (!may_hold(peer, communicator, message.length)) return kNoSlot;
    if (!state_.held.has_room(message.length)) return kNoSlot;
  }
  const std::uint32_t slot = state_.acquire_unexpected(announced);
  if (slot == kNoSlot) return kNoSlot;
  Unexpected& waiting = state_.unexpected[slot];
  waiting.flow = flow;
  waiting.communicator = message.communicator;
  waiting.order = message.order;
  waiting.tag = message.tag;
  waiting.digest = message.digest;
  waiting.number = message.number;
  waiting.length = message.length;
  waiting.sender_token = message.token;
  if (announced) {
    state_.incoming_index.insert(State::incoming_key(flow, message.number),
                                 slot | State::kUnexpectedBit);
  } else {
    waiting.held = state_.held.store({message.payload, static_cast<std::size_t>(message.length)});
    peer.held_bytes += message.length;
    if (communicator != nullptr) communicator->held_bytes += message.length;
  }
  return slot;
}

// Releases what hold() took; the record is already out of its list.
void Incoming::unhold(std::uint32_t slot, Communicator* communicator) {
  Unexpected& waiting = state_.unexpected[slot];
  if (waiting.announced) {
    state_.incoming_index.erase(State::incoming_key(waiting.flow, waiting.number));
  } else {
    if (waiting.held != BlockPool::kNone) state_.held.free(waiting.held);
    Peer& peer = state_.peer(peer_of(waiting.flow));
    ZHINU_ASSERT(peer.held_bytes >= waiting.length);
    peer.held_bytes -= waiting.length;
    if (communicator != nullptr) {
      ZHINU_ASSERT(communicator->held_bytes >= waiting.length);
      communicator->held_bytes -= waiting.length;
    }
  }
  state_.release_unexpected(slot);
}

// Parked messages whose predecessor has come go on, in the order of their numbers.
void Incoming::release_parked(Instant now, FlowId id) {
  Flow& flow = state_.flow(id);
  for (std::uint32_t slot = flow.parked.head; slot != kNoSlot;) {
    Unexpected& parked = state_.unexpected[slot];
    const std::uint32_t next = parked.list_next;
    const bool open = !waits_for_another(flow, parked.number, parked.order);
    if (open && !behind_parked(flow, parked.communicator, parked.number)) {
      flow.parked.remove(state_.unexpected, slot);
      parked.parked = false;
      Communicator* communicator = state_.communicator(parked.communicator);
      if (communicator == nullptr) {
        parked.orphan = true;
        state_.orphans.push_back(state_.unexpected, slot);
      } else {
        offer(now, *communicator, slot);
      }
    }
    slot = next;
  }
}

// An unexpected message in no list: to a posted receive, or behind the others.
void Incoming::offer(Instant now, Communicator& communicator, std::uint32_t slot) {
  const Unexpected& waiting = state_.unexpected[slot];
  std::uint32_t posted = kNoSlot;
  static_cast<void>(take_posted(communicator, waiting.flow, frame_of(waiting), posted));
  if (posted != kNoSlot) return give_held(now, communicator, posted, slot);
  communicator.unexpected[Communicator::bucket_of(waiting.tag, waiting.digest != 0)].push_back(
      state_.unexpected, slot);
  ++communicator.unexpected_count;
}

void Incoming::adopt_orphans(Instant now, Communicator& communicator) {
  for (std::uint32_t slot = state_.orphans.head; slot != kNoSlot;) {
    const std::uint32_t next = state_.unexpected[slot].list_next;
    if (state_.unexpected[slot].communicator == communicator.id.value) {
      state_.orphans.remove(state_.unexpected, slot);
      state_.unexpected[slot].orphan = false;
      offer(now, communicator, slot);
    }
    slot = next;
  }
}

// Takes an unexpected record out of the list it is in and releases it.
void Incoming::forget(std::uint32_t slot) {
  Unexpected& waiting = state_.unexpected[slot];
  Communicator* communicator = state_.communicator(waiting.communicator);
  if (waiting.parked) {
    state_.flow(waiting.flow).parked.remove(state_.unexpected, slot);
  } else if (waiting.orphan) {
    state_.orphans.remove(state_.unexpected, slot);
  } else {
    ZHINU_ASSERT(communicator != nullptr);
    communicator->unexpected[Communicator::bucket_of(waiting.tag, waiting.digest != 0)].remove(
        state_.unexpected, slot);
    --communicator->unexpected_count;
  }
  unhold(slot, communicator);
}

void Incoming::drop_unexpected(Communicator& communicator, Errc code) {
  for (std::uint32_t slot = 0; slot < state_.unexpected.capacity(); ++slot) {
    const Unexpected& waiting = state_.unexpected[slot];
    if (waiting.flow.is_none() || waiting.communicator != communicator.id.value) continue;
    if (waiting.announced) {
      // Without room the sender ends by its own abort or deadline.
      static_cast<void>(
          transfers_.tell_end(waiting.flow, waiting.number, waiting.sender_token, code));
    }
    forget(slot);
  }
}

void Incoming::drop_unexpected_of(PeerId peer) {
  for (std::uint32_t slot = 0; slot < state_.unexpected.capacity(); ++slot) {
    const Unexpected& waiting = state_.unexpected[slot];
    if (!waiting.flow.is_none() && peer_of(waiting.flow) == peer) forget(slot);
  }
}

}  // namespace zhinu::core

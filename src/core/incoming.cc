// Two-sided messages: posting and matching. What waits for a receive, for an earlier
// message or for its communicator is in incoming_waiting.cc; one-sided operations and
// cancels are in incoming_one_sided.cc.
#include "core/incoming.h"

namespace zhinu::core {

// A message waited for this receive, perhaps.
bool Incoming::take_early(Instant now, Communicator& communicator, std::uint32_t slot,
                          const ReceiveArgs& args) {
  const std::uint32_t early = find_unexpected(communicator, args);
  if (early == kNoSlot) return false;
  const std::uint32_t bucket = Communicator::bucket_of(args.tag, args.digest != 0);
  communicator.unexpected[bucket].remove(state_.unexpected, early);
  --communicator.unexpected_count;
  give_held(now, communicator, slot, early);
  return true;
}

void Incoming::offer_credit(PeerId id, Channel& channel) {
  if (channel.in_credit_queue) return;
  // All peers may use their credit at once; together that must not exceed what is granted.
  const std::uint64_t unscheduled = state_.peers.size() * state_.options.unscheduled_bytes;
  if (unscheduled > state_.options.grant_window_bytes) return;
  channel.credit_dirty = true;
  channel.in_credit_queue = true;
  Peer& peer = state_.peer(id);
  peer.credits.push_back(state_.channels, channel.slot);
  state_.want_control(peer);
}

std::uint32_t Incoming::post_read(const ReadArgs& args) {
  const std::uint32_t slot = state_.acquire_receive();
  if (slot == kNoSlot) return kNoSlot;
  ReceiveRecord& record = state_.receives[slot];
  record.open_transfer();
  record.kind = ReceiveKind::kRead;
  record.state = ReceiveState::kWaiting;
  record.traffic_class = args.traffic_class;
  record.communicator = args.communicator.value;
  record.peer = args.peer;
  record.buffer = args.buffer.data();
  record.capacity = args.buffer.size();
  record.user = args.user;
  const std::uint32_t request = outgoing_.post_read_request(args, slot);
  if (request == kNoSlot) {
    record.state = ReceiveState::kFree;
    state_.receives.release(slot);
    return kNoSlot;
  }
  record.request_slot = request;
  return slot;
}

std::uint32_t Incoming::find_unexpected(const Communicator& communicator,
                                        const ReceiveArgs& args) const {
  const auto& bucket = communicator.unexpected[Communicator::bucket_of(args.tag, args.digest != 0)];
  for (std::uint32_t slot = bucket.head; slot != kNoSlot;) {
    const Unexpected& waiting = state_.unexpected[slot];
    if (waiting.tag == args.tag && (waiting.digest != 0) == (args.digest != 0) &&
        class_of(waiting.flow) == args.traffic_class &&
        (args.peer.is_none() || args.peer == peer_of(waiting.flow))) {
      return slot;
    }
    slot = waiting.list_next;
  }
  return kNoSlot;
}

Taken Incoming::seen_before(Flow& flow, std::uint64_t number, bool& fresh) {
  fresh = false;
  switch (flow.incoming.look(number)) {
    case NumberWindow::Seen::kFresh: fresh = true; return Taken::kYes;
    case NumberWindow::Seen::kSeen:
      state_.counters.add(Counter::kDuplicateMessages);
      return Taken::kDuplicate;
    case NumberWindow::Seen::kBeyond: return Taken::kBad;
  }
  return Taken::kBad;
}

// A peer that was told and sends all the same may have made the communicator only afterwards.
void Incoming::repeat_abort(Communicator& communicator, PeerId id) {
  const std::uint64_t bit = 1ULL << (id.value % 64);
  std::uint64_t& told = communicator.abort_told[id.value / 64];
  if ((told & bit) == 0) return;
  told &= ~bit;
  communicator.abort_sent[id.value / 64] &= ~bit;
  Peer& peer = state_.peer(id);
  peer.aborts_due = true;
  state_.want_control(peer);
}

// A message that is not the next of its flow: seen before, or it must wait, or neither.
bool Incoming::out_of_turn(Flow& flow, FlowId id, const wire::Frame& message, Taken& taken,
                           bool& waits) {
  bool fresh = false;
  taken = seen_before(flow, message.number, fresh);
  if (!fresh) {
    const bool announced = message.kind == wire::FrameKind::kAnnounce;
    if (announced && taken == Taken::kDuplicate) {
      transfers_.announced_again(id, message.token, message.number);
    }
    return true;
  }
  waits = waits_for_another(flow, message.number, message.order) ||
          (!flow.parked.empty() && behind_parked(flow, message.communicator, message.number));
  return false;
}

Taken Incoming::on_aborted(Instant now, Communicator& communicator, FlowId id,
                           const wire::Frame& message) {
  repeat_abort(communicator, peer_of(id));
  if (message.kind == wire::FrameKind::kAnnounce) {
    return refuse_and_mark(now, id, message.number, message.token, Errc::kAborted);
  }
  transfers_.forget_refusal(id, message.number);
  mark(now, id, message.number);
  return Taken::kYes;
}

// No receive wants it, or it waits for another one.
Taken Incoming::keep(Instant now, Flow& flow, FlowId id, Communicator* communicator,
                     const wire::Frame& message, bool waits) {
  // A communicator that does not exist yet holds no bytes, announcements only.
  const bool holds = communicator != nullptr || message.kind == wire::FrameKind::kAnnounce;
  const std::uint32_t held = holds ? hold(id, message, communicator) : kNoSlot;
  if (held == kNoSlot) return not_held(id, message.number);
  transfers_.forget_refusal(id, message.number);
  Unexpected& waiting = state_.unexpected[held];
  if (waits) {
    waiting.parked = true;
    std::uint32_t before = flow.parked.head;
    while (before != kNoSlot && state_.unexpected[before].number < message.number) {
      before = state_.unexpected[before].list_next;
    }
    flow.parked.insert_before(state_.unexpected, held, before);
  } else if (communicator == nullptr) {
    waiting.orphan = true;
    state_.orphans.push_back(state_.unexpected, held);
  } else {
    communicator->unexpected[Communicator::bucket_of(message.tag, message.digest != 0)].push_back(
        state_.unexpected, held);
    ++communicator->unexpected_count;
  }
  mark(now, flow, id, message.number);
  return Taken::kYes;
}

// No room for a message that came whole, or for its announcement.
Taken Incoming::not_held(FlowId id, std::uint64_t number) {
  if (!transfers_.refuse(id, number, kNoSlot, Errc::kNotHeld)) return Taken::kNoRoom;
  state_.flow(id).not_held.add(number);
  return Taken::kYes;
}

void Incoming::ask_abort(const AbortRequest& request) {
  Communicator* communicator = state_.communicator(request.communicator);
  if (communicator == nullptr || communicator->aborted || communicator->abort_asked) return;
  communicator->abort_asked = true;
  ZHINU_ASSERT(abort_requests_.size() < abort_requests_.capacity());
  abort_requests_.push_back(request);
}

void Incoming::mismatch(ReceiveRecord& record, std::uint32_t slot, FlowId flow,
                        const wire::Frame& message) {
  record.open_transfer();
  record.peer_digest = message.digest;
  ask_abort({message.communicator, Errc::kDigestMismatch, state_.identity.rank,
             state_.peer(record.peer).rank, record.digest, message.digest});
  if (message.kind == wire::FrameKind::kAnnounce) {
    // Without room for the refusal the abort tells the sender.
    static_cast<void>(
        transfers_.tell_end(flow, message.number, message.token, Errc::kDigestMismatch));
  }
  state_.complete_receive(slot, record, Errc::kDigestMismatch, message.length);
}

// Gives a message that waited in `held`, which is out of its list, to a receive.
void Incoming::give_held(Instant now, Communicator& communicator, std::uint32_t slot,
                         std::uint32_t held) {
  const Unexpected& waiting = state_.unexpected[held];
  const wire::Frame message = frame_of(waiting);
  const FlowId flow = waiting.flow;
  ReceiveRecord& record = state_.receives[slot];
  record.peer = peer_of(flow);
  record.refused = waiting.refused;
  const bool fits = record.digest == message.digest && message.length <= record.capacity;
  if (fits && !waiting.announced && message.length > 0) {
    state_.held.read(waiting.held, {record.buffer, message.length});
  }
  unhold(held, &communicator);
  if (!fits) return end_unfit(slot, flow, message);
  if (message.kind == wire::FrameKind::kAnnounce) {
    return start(now, slot, flow, message);
  }
  state_.counters.add(Counter::kMessagesReceived);
  state_.complete_receive(slot, record, Errc::kOk, message.length);
}

// An announced message found its receive.
void Incoming::start(Instant now, std::uint32_t slot, FlowId flow, const wire::Frame& message) {
  // No segment will be acknowledged that tells its sender.
  if (message.length == 0 &&
      !transfers_.tell_end(flow, message.number, message.token, Errc::kTaken)) {
    // No room to tell it now: the communicator cannot go on without it.
    ask_abort({message.communicator, Errc::kAborted, state_.identity.rank,
               state_.peer(peer_of(flow)).rank, 0, 0});
  }
  transfers_.start(now, slot, flow, message.number, message.token, message.length);
}

// The message is not what the receive was posted for.
void Incoming::end_unfit(std::uint32_t slot, FlowId flow, const wire::Frame& message) {
  ReceiveRecord& record = state_.receives[slot];
  if (record.digest != message.digest) return mismatch(record, slot, flow, message);
  if (message.kind == wire::FrameKind::kAnnounce &&
      !transfers_.tell_end(flow, message.number, message.token, Errc::kTruncated)) {
    // No room to tell the sender now: the communicator cannot go on without it.
    ask_abort({message.communicator, Errc::kTruncated, state_.identity.rank,
               state_.peer(record.peer).rank, 0, 0});
  }
  state_.complete_receive(slot, record, Errc::kTruncated, message.length);
}

}  // namespace zhinu::core

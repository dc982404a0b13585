// Two-sided messages: posting and matching. What waits for a receive, for an earlier
// message or for its communicator is in incoming_waiting.cc; one-sided operations and
// cancels are in incoming_one_sided.cc.
#include "core/incoming.h"

#include <algorithm>
#include <cstring>

namespace zhinu::core {

namespace {

ByteSpan bytes_of(const wire::Frame& frame) {
  return {frame.payload, static_cast<std::size_t>(frame.length)};
}

}  // namespace

std::uint32_t Incoming::post_receive(Instant now, const ReceiveArgs& args) {
  Communicator& communicator = *state_.communicator(args.communicator.value);
  const std::uint32_t slot = state_.acquire_receive();
  if (slot == kNoSlot) return kNoSlot;
  ReceiveRecord& record = state_.receives[slot];
  record.kind = ReceiveKind::kReceive;
  record.state = ReceiveState::kPosted;
  record.traffic_class = args.traffic_class;
  record.has_user = true;
  record.communicator = args.communicator.value;
  record.peer = args.peer;
  record.tag = args.tag;
  record.digest = args.digest;
  record.buffer = args.buffer.data();
  record.capacity = args.buffer.size();
  record.user = args.user;
  const std::uint32_t early = find_unexpected(communicator, args);
  if (early == kNoSlot) {
    communicator.posted[Communicator::bucket_of(args.tag, args.digest != 0)].push_back(
        state_.receives, slot);
    ++communicator.posted_count;
    if (!args.peer.is_none()) grant_credit(args, communicator);
    return slot;
  }
  const Unexpected& waiting = state_.unexpected[early];
  Descriptor message;
  message.flow = waiting.flow;
  message.number = waiting.number;
  message.tag = waiting.tag;
  message.digest = waiting.digest;
  message.communicator = waiting.communicator;
  message.announced = waiting.announced;
  message.sender_token = waiting.sender_token;
  message.length = waiting.length;
  const std::uint32_t bucket = Communicator::bucket_of(waiting.tag, waiting.digest != 0);
  communicator.unexpected[bucket].remove(state_.unexpected, early);
  --communicator.unexpected_count;
  if (!args.peer.is_none()) grant_credit(args, communicator);
  give(now, communicator, slot, message, early);
  return slot;
}

// Tells the peer how many receives were posted for it: large messages may then start
// without asking. Only told when this one is larger than an eager message.
void Incoming::grant_credit(const ReceiveArgs& args, Communicator& communicator) {
  const std::uint32_t channel_slot =
      state_.channel_of(flow_id(args.peer, args.traffic_class), communicator);
  if (channel_slot == kNoSlot) return;  // a hint only
  Channel& channel = state_.channels[channel_slot];
  ++channel.credit_given;
  if (args.buffer.size() <= state_.options.eager_bytes_max || channel.in_credit_queue) return;
  // All peers may use their credit at once; together that must not exceed what is granted.
  const std::uint64_t unscheduled = state_.peers.size() * state_.options.unscheduled_bytes;
  if (unscheduled > state_.options.grant_window_bytes) return;
  channel.credit_dirty = true;
  channel.in_credit_queue = true;
  Peer& peer = state_.peer(args.peer);
  peer.credits.push_back(state_.channels, channel_slot);
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
  record.has_user = true;
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
  if (communicator.unexpected_count == 0) return kNoSlot;
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

// Takes the first posted receive that the message fits out of its bucket, or kNoSlot.
std::uint32_t Incoming::take_posted(Communicator& communicator, const Descriptor& message) {
  if (communicator.posted_count == 0) return kNoSlot;
  auto& bucket = communicator.posted[Communicator::bucket_of(message.tag, message.digest != 0)];
  const PeerId source = peer_of(message.flow);
  const TrafficClass traffic_class = class_of(message.flow);
  for (std::uint32_t slot = bucket.head; slot != kNoSlot;) {
    const ReceiveRecord& record = state_.receives[slot];
    if (record.tag == message.tag && (record.digest != 0) == (message.digest != 0) &&
        record.traffic_class == traffic_class && (record.peer == source || record.peer.is_none())) {
      bucket.remove(state_.receives, slot);
      --communicator.posted_count;
      return slot;
    }
    slot = record.list_next;
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

Taken Incoming::on_message(Instant now, FlowId flow, const wire::Frame& frame,
                           std::uint64_t number) {
  Descriptor message;
  message.flow = flow;
  message.number = number;
  message.tag = frame.tag;
  message.digest = frame.digest;
  message.communicator = frame.communicator;
  message.order = frame.order;
  message.length = frame.length;
  message.bytes = bytes_of(frame);
  return take(now, message);
}

Taken Incoming::on_announce(Instant now, FlowId flow, const wire::Frame& frame,
                            std::uint64_t number) {
  Descriptor message;
  message.flow = flow;
  message.number = number;
  message.tag = frame.tag;
  message.digest = frame.digest;
  message.communicator = frame.communicator;
  message.order = frame.order;
  message.announced = true;
  message.sender_token = frame.token;
  message.length = frame.length;
  const Taken taken = take(now, message);
  if (taken == Taken::kDuplicate) transfers_.announced_again(flow, frame, number);
  return taken;
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

Taken Incoming::take(Instant now, const Descriptor& message) {
  Flow& flow = state_.flow(message.flow);
  bool fresh = false;
  const Taken seen = seen_before(flow, message.number, fresh);
  if (!fresh) return seen;
  Communicator* communicator = state_.communicator(message.communicator);
  if (communicator != nullptr && communicator->aborted) {
    repeat_abort(*communicator, peer_of(message.flow));
    if (message.announced) {
      return refuse_and_mark(now, message.flow, message.number, message.sender_token,
                             Errc::kAborted);
    }
    transfers_.forget_refusal(message.flow, message.number);
    mark(now, message.flow, message.number);
    return Taken::kYes;
  }
  // A late copy of what was refused: its sender announces it, and waits for a grant.
  if (!message.announced && flow.not_held.contains(message.number)) {
    return not_held(message.flow, message.number);
  }
  const bool waits = waits_for_another(flow, message.number, message.order) ||
                     (!flow.parked.empty() && behind_parked(flow, message));
  if (communicator != nullptr && !waits) {
    const std::uint32_t posted = take_posted(*communicator, message);
    if (posted != kNoSlot) {
      transfers_.forget_refusal(message.flow, message.number);
      give(now, *communicator, posted, message, kNoSlot);
      mark(now, message.flow, message.number);
      return Taken::kYes;
    }
  }
  // A communicator that does not exist yet holds no bytes, announcements only.
  const std::uint32_t held =
      communicator == nullptr && !message.announced ? kNoSlot : hold(message, communicator);
  if (held == kNoSlot) return not_held(message.flow, message.number);
  transfers_.forget_refusal(message.flow, message.number);
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
  mark(now, message.flow, message.number);
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

void Incoming::mismatch(Instant now, ReceiveRecord& record, std::uint32_t slot,
                        const Descriptor& message) {
  record.peer = peer_of(message.flow);
  record.open_transfer();
  record.peer_digest = message.digest;
  ask_abort({message.communicator, Errc::kDigestMismatch, state_.identity.rank,
             state_.peer(record.peer).rank, record.digest, message.digest});
  if (message.announced) {
    // Without room for the refusal the abort tells the sender.
    static_cast<void>(transfers_.tell_end(message.flow, message.number, message.sender_token,
                                          Errc::kDigestMismatch));
  }
  static_cast<void>(now);
  state_.complete_receive(slot, Errc::kDigestMismatch, message.length);
}

// Gives a message to a receive. `held` is the record it waited in, or kNoSlot when it
// arrived just now.
void Incoming::give(Instant now, Communicator& communicator, std::uint32_t slot,
                    const Descriptor& message, std::uint32_t held) {
  ReceiveRecord& record = state_.receives[slot];
  const bool fits = message.length <= record.capacity;
  if (record.digest == message.digest && fits) {
    record.peer = peer_of(message.flow);
    if (message.announced) {
      if (held != kNoSlot) {
        record.refused = state_.unexpected[held].refused;
        unhold(held, &communicator);
      }
      return transfers_.start(now, slot, message.flow, message.number, message.sender_token,
                              message.length);
    }
    if (held == kNoSlot) {
      if (message.length > 0) std::memcpy(record.buffer, message.bytes.data(), message.length);
    } else {
      if (message.length > 0) {
        state_.held.read(state_.unexpected[held].held, {record.buffer, message.length});
      }
      unhold(held, &communicator);
    }
    state_.counters.add(Counter::kMessagesReceived);
    return state_.complete_receive(slot, Errc::kOk, message.length);
  }
  if (held != kNoSlot) unhold(held, &communicator);
  if (record.digest != message.digest) return mismatch(now, record, slot, message);
  record.peer = peer_of(message.flow);
  if (message.announced &&
      !transfers_.tell_end(message.flow, message.number, message.sender_token, Errc::kTruncated)) {
    // No room to tell the sender now: the communicator cannot go on without it.
    ask_abort({message.communicator, Errc::kTruncated, state_.identity.rank,
               state_.peer(record.peer).rank, 0, 0});
  }
  state_.complete_receive(slot, Errc::kTruncated, message.length);
}

void Incoming::mark(Instant now, FlowId id, std::uint64_t number) {
  Flow& flow = state_.flow(id);
  flow.incoming.mark(number);
  if (!flow.not_held.empty()) flow.not_held.remove(number);
  transfers_.on_number_seen();
  if (!flow.parked.empty()) release_parked(now, id);
}

}  // namespace zhinu::core

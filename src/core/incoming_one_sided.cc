// Writes and reads of our regions, answers to our reads, cancels and ends.
#include <algorithm>
#include <cstring>

#include "core/incoming.h"

namespace zhinu::core {

namespace {

void describe_write(ReceiveRecord& record, const wire::Frame& frame, Instant now) {
  record.open_transfer();
  record.kind = ReceiveKind::kIncomingWrite;
  record.has_user = false;
  record.communicator = frame.communicator;
  record.notify = (frame.flags & wire::kFlagNotify) != 0;
  record.ordered = (frame.flags & wire::kFlagOrdered) != 0;
  record.immediate = frame.tag;
  record.behind = frame.digest;
  record.region_key = frame.region_key;
  record.region_offset = frame.offset;
  record.message_bytes = frame.length;
  record.last_arrival = now;
}

}  // namespace

// A message whose sender waits for the result of its bytes, and will hear an error instead.
Taken Incoming::refuse_and_mark(Instant now, FlowId flow, std::uint64_t number, std::uint32_t token,
                                Errc code) {
  const bool told = state_.has_room_for_refusal() && transfers_.tell_end(flow, number, token, code);
  if (!told) return Taken::kNoRoom;
  mark(now, flow, number);
  transfers_.flush_notifications();
  return Taken::kYes;
}

// A message whose result is its ACK. Not seen: a copy of it must be refused again, as the sender
// may not have used the refusal of this one. Its cancel makes the number void.
Taken Incoming::refuse_whole(FlowId flow, std::uint64_t number, Errc code) {
  return transfers_.refuse(flow, number, kNoSlot, code) ? Taken::kYes : Taken::kNoRoom;
}

Taken Incoming::on_put(Instant now, FlowId flow, const wire::Frame& frame) {
  const std::uint64_t number = frame.number;
  bool fresh = false;
  const Taken seen = seen_before(state_.flow(flow), number, fresh);
  if (!fresh) return seen;
  const auto memory = state_.regions.find_for_write({frame.region_key}, frame.offset, frame.length);
  if (!memory.ok()) return refuse_whole(flow, number, memory.error());
  if (state_.flow(flow).not_held.contains(number)) return not_held(flow, number);
  if ((frame.flags & wire::kFlagNotify) != 0) {
    // The notification is remembered first: bytes without one would be lost work.
    ReceiveRecord write;
    describe_write(write, frame, now);
    if (state_.receives.available() == 0) {
      return not_held(flow, number);
    }
    if (frame.length > 0) std::memcpy(memory.value().data(), frame.payload, frame.length);
    write.number = number;
    if (!transfers_.notify_put(flow, write)) {
      return not_held(flow, number);
    }
  } else if (frame.length > 0) {
    std::memcpy(memory.value().data(), frame.payload, frame.length);
  }
  transfers_.forget_refusal(flow, number);
  state_.counters.add(Counter::kMessagesReceived);
  mark(now, flow, number);
  return Taken::kYes;
}

Taken Incoming::on_write(Instant now, FlowId flow, const wire::Frame& frame) {
  const std::uint64_t number = frame.number;
  bool fresh = false;
  const Taken seen = seen_before(state_.flow(flow), number, fresh);
  if (!fresh) {
    if (seen == Taken::kDuplicate) transfers_.announced_again(flow, frame.token, number);
    return seen;
  }
  const auto memory = state_.regions.find_for_write({frame.region_key}, frame.offset, frame.length);
  if (!memory.ok() && frame.length == 0) return refuse_whole(flow, number, memory.error());
  if (!memory.ok()) {
    if ((frame.flags & wire::kFlagOrdered) != 0) state_.flow(flow).give_up(number);
    return refuse_and_mark(now, flow, number, frame.token, memory.error());
  }
  const std::uint32_t slot = state_.acquire_receive(true);
  if (slot == kNoSlot) return not_held(flow, number);
  transfers_.forget_refusal(flow, number);
  ReceiveRecord& record = state_.receives[slot];
  describe_write(record, frame, now);
  record.buffer = memory.value().data();
  record.capacity = frame.length;
  transfers_.start(now, slot, flow, number, frame.token, frame.length);
  mark(now, flow, number);
  return Taken::kYes;
}

Taken Incoming::on_read(Instant now, FlowId flow, const wire::Frame& frame) {
  const std::uint64_t number = frame.number;
  bool fresh = false;
  const Taken seen = seen_before(state_.flow(flow), number, fresh);
  if (!fresh) return seen;
  const auto memory = state_.regions.find_for_read({frame.region_key}, frame.offset, frame.length);
  if (!memory.ok()) return refuse_whole(flow, number, memory.error());
  const Outgoing::ReadAnswer answer{flow,           frame.communicator,
                                    memory.value(), frame.region_key,
                                    frame.token,    static_cast<std::uint32_t>(number)};
  if (!outgoing_.post_read_answer(answer)) {
    return transfers_.refuse(flow, number, kNoSlot, Errc::kNotHeld) ? Taken::kYes : Taken::kNoRoom;
  }
  transfers_.forget_refusal(flow, number);
  mark(now, flow, number);
  return Taken::kYes;
}

// The read that an answer belongs to, or null when it has ended here.
ReceiveRecord* Incoming::read_of(FlowId flow, std::uint32_t token, std::uint64_t length,
                                 bool failed) {
  if (token >= state_.receives.capacity()) return nullptr;
  ReceiveRecord& record = state_.receives[token];
  const bool fits = record.kind == ReceiveKind::kRead && record.state == ReceiveState::kWaiting &&
                    record.peer == peer_of(flow) && record.traffic_class == class_of(flow) &&
                    (failed || record.capacity == length);
  return fits ? &record : nullptr;
}

Taken Incoming::on_read_data(Instant now, FlowId flow, const wire::Frame& frame) {
  const std::uint64_t number = frame.number;
  bool fresh = false;
  const Taken seen = seen_before(state_.flow(flow), number, fresh);
  if (!fresh) return seen;
  ReceiveRecord* record = read_of(flow, frame.token, frame.length, false);
  if (record != nullptr && answers(*record, frame)) {
    if (frame.length > 0) std::memcpy(record->buffer, frame.payload, frame.length);
    detach_request(*record);
    state_.counters.add(Counter::kMessagesReceived);
    state_.complete_receive(frame.token, Errc::kOk, frame.length);
  } else {
    state_.counters.add(Counter::kLateSegments);
  }
  mark(now, flow, number);
  return Taken::kYes;
}

Taken Incoming::on_read_announce(Instant now, FlowId flow, const wire::Frame& frame) {
  const std::uint64_t number = frame.number;
  bool fresh = false;
  const Taken seen = seen_before(state_.flow(flow), number, fresh);
  if (!fresh) {
    if (seen == Taken::kDuplicate) transfers_.announced_again(flow, frame.token, number);
    return seen;
  }
  ReceiveRecord* record = read_of(flow, frame.peer_token, frame.length, frame.code != Errc::kOk);
  if (frame.code != Errc::kOk) {
    if (record != nullptr && answers(*record, frame)) {
      detach_request(*record);
      state_.complete_receive(frame.peer_token, frame.code, 0);
    }
    mark(now, flow, number);
    return Taken::kYes;
  }
  if (record == nullptr || !answers(*record, frame)) {
    return refuse_and_mark(now, flow, number, frame.token, Errc::kPeerCancelled);
  }
  detach_request(*record);
  transfers_.forget_refusal(flow, number);
  transfers_.start(now, frame.peer_token, flow, number, frame.token, frame.length);
  mark(now, flow, number);
  return Taken::kYes;
}

// The slot may have been used again since: the number of the request tells.
bool Incoming::answers(const ReceiveRecord& record, const wire::Frame& frame) const {
  return record.read_number_known &&
         static_cast<std::uint32_t>(record.number) == static_cast<std::uint32_t>(frame.offset);
}

// The answer is here though the request's acknowledgement is not.
void Incoming::detach_request(ReceiveRecord& record) {
  if (record.request_slot == kNoSlot) return;
  state_.sends[record.request_slot].read_slot = kNoSlot;
  record.request_slot = kNoSlot;
}

void Incoming::on_cancel(Instant now, FlowId id, std::uint32_t number, Errc code) {
  Flow& flow = state_.flow(id);
  const std::uint64_t whole = wire::expand_number(number, flow.incoming.floor());
  const std::uint32_t slot = state_.incoming_index.find(State::incoming_key(id, whole));
  const Errc told = code == Errc::kRegionRefused ? code : Errc::kPeerCancelled;
  const bool fresh = flow.incoming.look(whole) == NumberWindow::Seen::kFresh;
  bool parked = false;
  if (slot != kNoSlot && (slot & State::kUnexpectedBit) != 0) {
    parked = state_.unexpected[slot & ~State::kUnexpectedBit].parked;
    forget(slot & ~State::kUnexpectedBit);
  } else if (slot != kNoSlot) {
    transfers_.drop(now, slot, told);
  }
  // What it was itself waiting for, its successors must wait for now.
  if (fresh || parked) flow.give_up(whole);
  if (fresh) {
    transfers_.forget_refusal(id, whole);
    mark(now, id, whole);
    transfers_.flush_notifications();
  }
}

bool Incoming::end(Instant now, std::uint32_t slot, Errc code) {
  ReceiveRecord& record = state_.receives[slot];
  switch (record.state) {
    case ReceiveState::kPosted: {
      Communicator& communicator = *state_.communicator(record.communicator);
      communicator.posted[Communicator::bucket_of(record.tag, record.digest != 0)].remove(
          state_.receives, slot);
      --communicator.posted_count;
      state_.complete_receive(slot, code, 0);
      return true;
    }
    case ReceiveState::kWaiting: {
      const std::uint32_t request = record.request_slot;
      detach_request(record);
      if (request != kNoSlot) outgoing_.end(request, code);
      state_.complete_receive(slot, code, 0);
      return true;
    }
    case ReceiveState::kMatched:
    case ReceiveState::kIncoming: {
      const Errc told = code == Errc::kAborted ? code : Errc::kPeerCancelled;
      return transfers_.end(now, slot, code, told);
    }
    case ReceiveState::kNotifying:
    case ReceiveState::kEnded:
    case ReceiveState::kFree: return true;
  }
  return true;
}

}  // namespace zhinu::core

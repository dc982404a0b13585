// Messages on their way in: posted receives, matching, holding what comes early,
// one-sided operations on our regions, answers to our reads.
//
// Internal to src/core. Matching is in order per (source, class, communicator,
// tag); a message is recorded as seen only when it was taken, so what found no
// room comes again. Thread rule: the endpoint's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "core/outgoing.h"
#include "core/state.h"
#include "core/transfers.h"

namespace zhinu::core {

// A communicator that must be aborted once the packet at hand is done.
struct AbortRequest {
  std::uint16_t communicator = 0;
  Errc code = Errc::kAborted;
  std::uint32_t reporter_rank = 0;
  std::uint32_t other_rank = 0;
  std::uint32_t reporter_digest = 0;
  std::uint32_t other_digest = 0;
};

class Incoming {
 public:
  Incoming(State& state, Outgoing& outgoing, Transfers& transfers)
      : state_(state), outgoing_(outgoing), transfers_(transfers) {
    reserve_aborts(kAbortRequestsMin);
  }

  // Posts. Arguments were validated. The slot, or kNoSlot when a pool is full.
  std::uint32_t post_receive(Instant now, Communicator& communicator, const ReceiveArgs& args);
  std::uint32_t post_read(const ReadArgs& args);
  // Ends a record whatever it is doing. False when its sender cannot be told yet (kFull).
  bool end(Instant now, std::uint32_t slot, Errc code);

  // A message, whole or announced; `message.number` is the whole one.
  Taken on_message(Instant now, Flow& flow, FlowId id, const wire::Frame& message);
  // Frames with a whole, expanded message number.
  Taken on_put(Instant now, FlowId flow, const wire::Frame& frame);
  Taken on_write(Instant now, FlowId flow, const wire::Frame& frame);
  Taken on_read(Instant now, FlowId flow, const wire::Frame& frame);
  Taken on_read_data(Instant now, FlowId flow, const wire::Frame& frame);
  Taken on_read_announce(Instant now, FlowId flow, const wire::Frame& frame);
  // The sender gave a message up; `number` is the low 32 bits.
  void on_cancel(Instant now, FlowId flow, std::uint32_t number, Errc code);

  // Messages that came before their communicator find it now.
  void adopt_orphans(Instant now, Communicator& communicator);
  // Forgets what waits on it without a receive; announced senders hear `code`.
  void drop_unexpected(Communicator& communicator, Errc code);
  void drop_unexpected_of(PeerId peer);

  // Aborts that frames asked for, at most one for each communicator; the endpoint carries them
  // out. Room for all communicators is made when they are.
  void reserve_aborts(std::size_t communicators) { abort_requests_.reserve(communicators); }
  void ask_abort(const AbortRequest& request);
  std::vector<AbortRequest>& abort_requests() { return abort_requests_; }
  std::size_t memory_bytes() const { return abort_requests_.capacity() * sizeof(AbortRequest); }

 private:
  static constexpr std::size_t kAbortRequestsMin = 16;

  // A message as its frame tells, with its whole number; without payload once it is held.
  static wire::Frame frame_of(const Unexpected& waiting);
  bool out_of_turn(Flow& flow, FlowId id, const wire::Frame& message, Taken& taken, bool& waits);
  Taken on_aborted(Instant now, Communicator& communicator, FlowId id, const wire::Frame& message);
  Taken keep(Instant now, Flow& flow, FlowId id, Communicator* communicator,
             const wire::Frame& message, bool waits);
  static bool waits_for_another(const Flow& flow, std::uint64_t number, std::uint8_t order);
  bool behind_parked(const Flow& flow, std::uint16_t communicator, std::uint64_t number) const;
  ReceiveRecord* take_posted(Communicator& communicator, FlowId flow, const wire::Frame& message,
                             std::uint32_t& taken);
  std::uint32_t find_unexpected(const Communicator& communicator, const ReceiveArgs& args) const;
  void give(Instant now, std::uint32_t slot, ReceiveRecord& record, FlowId flow,
            const wire::Frame& message);
  void give_held(Instant now, Communicator& communicator, std::uint32_t slot, std::uint32_t held);
  void end_unfit(std::uint32_t slot, FlowId flow, const wire::Frame& message);
  void start(Instant now, std::uint32_t slot, FlowId flow, const wire::Frame& message);
  void repeat_abort(Communicator& communicator, PeerId id);
  void mismatch(ReceiveRecord& record, std::uint32_t slot, FlowId flow, const wire::Frame& message);
  std::uint32_t hold(FlowId flow, const wire::Frame& message, Communicator* communicator);
  bool may_hold(const Peer& peer, const Communicator* communicator, std::uint64_t bytes) const;
  void unhold(std::uint32_t slot, Communicator* communicator);
  void mark(Instant now, FlowId flow, std::uint64_t number) {
    mark(now, state_.flow(flow), flow, number);
  }
  void mark(Instant now, Flow& flow, FlowId id, std::uint64_t number) {
    flow.incoming.mark(number);
    if (!flow.not_held.empty()) flow.not_held.remove(number);
    transfers_.on_number_seen();
    if (!flow.parked.empty()) release_parked(now, id);
  }
  void release_parked(Instant now, FlowId flow);
  void offer(Instant now, Communicator& communicator, std::uint32_t slot);
  void forget(std::uint32_t slot);
  ReceiveRecord* read_of(FlowId flow, std::uint32_t token, std::uint64_t length, bool failed);
  bool answers(const ReceiveRecord& record, const wire::Frame& frame) const;
  void detach_request(ReceiveRecord& record);
  void grant_credit(const ReceiveArgs& args, Communicator& communicator);
  void offer_credit(PeerId peer, Channel& channel);
  bool take_early(Instant now, Communicator& communicator, std::uint32_t slot,
                  const ReceiveArgs& args);
  Taken seen_before(Flow& flow, std::uint64_t number, bool& fresh);
  Taken not_held(FlowId flow, std::uint64_t number);
  Taken refuse_whole(FlowId flow, std::uint64_t number, Errc code);
  Taken refuse_and_mark(Instant now, FlowId flow, std::uint64_t number, std::uint32_t token,
                        Errc code);

  State& state_;
  Outgoing& outgoing_;
  Transfers& transfers_;
  std::vector<AbortRequest> abort_requests_;
};

// What every small message goes through, in the header so that it is inlined.

inline std::uint32_t Incoming::post_receive(Instant now, Communicator& communicator,
                                            const ReceiveArgs& args) {
  std::uint32_t slot = kNoSlot;
  ReceiveRecord* const acquired = state_.acquire_receive(slot);
  if (acquired == nullptr) return kNoSlot;
  ReceiveRecord& record = *acquired;
  record.kind = ReceiveKind::kReceive;
  record.state = ReceiveState::kPosted;
  record.traffic_class = args.traffic_class;
  record.communicator = args.communicator.value;
  record.peer = args.peer;
  record.tag = args.tag;
  record.digest = args.digest;
  record.buffer = args.buffer.data();
  record.capacity = args.buffer.size();
  record.user = args.user;
  if (!args.peer.is_none()) grant_credit(args, communicator);
  if (communicator.unexpected_count > 0 && take_early(now, communicator, slot, args)) return slot;
  communicator.posted[Communicator::bucket_of(args.tag, args.digest != 0)].push_back(
      state_.receives, slot, record);
  ++communicator.posted_count;
  return slot;
}

// Tells the peer how many receives were posted for it: large messages may then start
// without asking. Only told when this one is larger than an eager message.
inline void Incoming::grant_credit(const ReceiveArgs& args, Communicator& communicator) {
  Channel* const channel = state_.channel_of(flow_id(args.peer, args.traffic_class), communicator);
  if (channel == nullptr) return;  // a hint only
  ++channel->credit_given;
  if (args.buffer.size() > state_.options.eager_bytes_max) offer_credit(args.peer, *channel);
}

// Takes the first posted receive that the message fits out of its bucket, if there is one.
inline ReceiveRecord* Incoming::take_posted(Communicator& communicator, FlowId flow,
                                            const wire::Frame& message, std::uint32_t& taken) {
  auto& bucket = communicator.posted[Communicator::bucket_of(message.tag, message.digest != 0)];
  const PeerId source = peer_of(flow);
  const TrafficClass traffic_class = class_of(flow);
  for (std::uint32_t slot = bucket.head; slot != kNoSlot;) {
    ReceiveRecord& record = state_.receives[slot];
    if (record.tag == message.tag && (record.digest != 0) == (message.digest != 0) &&
        record.traffic_class == traffic_class && (record.peer == source || record.peer.is_none())) {
      bucket.remove(state_.receives, slot, record);
      --communicator.posted_count;
      taken = slot;
      return &record;
    }
    slot = record.list_next;
  }
  return nullptr;
}

// Gives a message that just arrived, or an announced one, to a receive.
inline void Incoming::give(Instant now, std::uint32_t slot, ReceiveRecord& record, FlowId flow,
                           const wire::Frame& message) {
  record.peer = peer_of(flow);
  if (record.digest != message.digest || message.length > record.capacity) {
    return end_unfit(slot, flow, message);
  }
  if (message.kind == wire::FrameKind::kAnnounce) {
    return start(now, slot, flow, message);
  }
  copy_bytes(record.buffer, message.payload, message.length);
  state_.counters.add(Counter::kMessagesReceived);
  state_.complete_receive(slot, record, Errc::kOk, message.length);
}

inline Taken Incoming::on_message(Instant now, Flow& flow, FlowId id, const wire::Frame& message) {
  // The lowest number that is missing is fresh, and nothing that it may be behind is missing.
  bool waits = false;
  Taken taken = Taken::kYes;
  if (message.number != flow.incoming.floor() && out_of_turn(flow, id, message, taken, waits)) {
    return taken;
  }
  Communicator* communicator = state_.communicator(message.communicator);
  if (communicator != nullptr && communicator->aborted) {
    return on_aborted(now, *communicator, id, message);
  }
  // A late copy of what was refused: its sender announces it, and waits for a grant.
  if (!flow.not_held.empty() && message.kind != wire::FrameKind::kAnnounce &&
      flow.not_held.contains(message.number)) {
    return not_held(id, message.number);
  }
  if (communicator != nullptr && communicator->posted_count > 0 && !waits) {
    std::uint32_t slot = kNoSlot;
    ReceiveRecord* const posted = take_posted(*communicator, id, message, slot);
    if (posted != nullptr) {
      transfers_.forget_refusal(id, message.number);
      give(now, slot, *posted, id, message);
      mark(now, flow, id, message.number);
      return Taken::kYes;
    }
  }
  return keep(now, flow, id, communicator, message, waits);
}

}  // namespace zhinu::core

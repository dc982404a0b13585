// Messages on their way in: posted receives, matching, holding what comes early,
// one-sided operations on our regions, answers to our reads.
//
// Internal to src/core. Matching is in order per (source, class, communicator,
// tag); a message is recorded as seen only when it was taken, so what found no
// room comes again. Thread rule: the endpoint's.
#pragma once

#include <cstdint>
#include <vector>

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
  std::uint32_t post_receive(Instant now, const ReceiveArgs& args);
  std::uint32_t post_read(const ReadArgs& args);
  // Ends a record whatever it is doing. False when its sender cannot be told yet (kFull).
  bool end(Instant now, std::uint32_t slot, Errc code);

  // Frames with a whole, expanded message number.
  Taken on_message(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_announce(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_put(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_write(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_read(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_read_data(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
  Taken on_read_announce(Instant now, FlowId flow, const wire::Frame& frame, std::uint64_t number);
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

 private:
  static constexpr std::size_t kAbortRequestsMin = 16;

  struct Descriptor {  // what matching needs to know of a message
    FlowId flow;
    std::uint64_t number = 0;
    std::uint32_t tag = 0;
    std::uint32_t digest = 0;
    std::uint16_t communicator = 0;
    std::uint8_t order = 0;
    bool announced = false;
    std::uint32_t sender_token = 0;
    std::uint64_t length = 0;
    ByteSpan bytes;  // of a whole message that just arrived
  };
  Taken take(Instant now, const Descriptor& message);
  static bool waits_for_another(const Flow& flow, std::uint64_t number, std::uint8_t order);
  bool behind_parked(const Flow& flow, const Descriptor& message) const;
  std::uint32_t take_posted(Communicator& communicator, const Descriptor& message);
  std::uint32_t find_unexpected(const Communicator& communicator, const ReceiveArgs& args) const;
  void give(Instant now, Communicator& communicator, std::uint32_t slot, const Descriptor& message,
            std::uint32_t held);
  void repeat_abort(Communicator& communicator, PeerId id);
  void mismatch(Instant now, ReceiveRecord& record, std::uint32_t slot, const Descriptor& message);
  std::uint32_t hold(const Descriptor& message, Communicator* communicator);
  bool may_hold(const Peer& peer, const Communicator* communicator, std::uint64_t bytes) const;
  void unhold(std::uint32_t slot, Communicator* communicator);
  void mark(Instant now, FlowId flow, std::uint64_t number);
  void release_parked(Instant now, FlowId flow);
  void offer(Instant now, Communicator& communicator, std::uint32_t slot);
  void forget(std::uint32_t slot);
  ReceiveRecord* read_of(FlowId flow, std::uint32_t token, std::uint64_t length, bool failed);
  bool answers(const ReceiveRecord& record, const wire::Frame& frame) const;
  void detach_request(ReceiveRecord& record);
  void grant_credit(const ReceiveArgs& args, Communicator& communicator);
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

}  // namespace zhinu::core

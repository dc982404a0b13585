// The modules of one endpoint together, and what concerns all of them: argument
// checks, timers, deadlines, aborts.
//
// Internal to src/core: only endpoint*.cc include it.
#pragma once

#include "core/assembler.h"
#include "core/connections.h"
#include "core/dispatcher.h"
#include "core/endpoint.h"
#include "core/incoming.h"
#include "core/outgoing.h"
#include "core/recovery.h"
#include "core/state.h"
#include "core/transfers.h"

namespace zhinu::core {

class Endpoint::Impl {
 public:
  Impl(const EndpointOptions& options, const Identity& identity, Entropy& entropy,
       Misbehaviour* misbehaviour)
      : state(options, identity, entropy, misbehaviour),
        outgoing(state),
        transfers(state),
        incoming(state, outgoing, transfers),
        recovery(state, outgoing),
        connections(state, outgoing, incoming, transfers, recovery),
        assembler(state, outgoing, recovery),
        dispatcher(state, outgoing, incoming, transfers, recovery, connections) {}

  // Whom a post concerns, or why not.
  struct Target {
    Peer* peer = nullptr;  // null for a receive from any source
    Communicator* communicator = nullptr;
    Errc error = Errc::kOk;
  };
  Target find_target(PeerId peer_id, TrafficClass traffic_class, CommunicatorId id) {
    if (!state.has_peer(peer_id)) return {.error = Errc::kUnknownPeer};
    Peer& peer = state.peer(peer_id);
    if (peer.state == PeerState::kClosed) return {.error = Errc::kPeerClosed};
    Target target = find_target(traffic_class, id);
    target.peer = &peer;
    return target;
  }
  Target find_target(TrafficClass traffic_class, CommunicatorId id) {
    const bool is_user_class =
        traffic_class != TrafficClass::kControl && index_of(traffic_class) < kTrafficClasses;
    if (!is_user_class) return {.error = Errc::kInvalidArgument};
    Communicator* communicator = state.communicator(id.value);
    if (communicator == nullptr) return {.error = Errc::kUnknownCommunicator};
    if (communicator->aborted) return {.error = Errc::kAborted};
    return {.communicator = communicator};
  }
  static bool fits_digest(std::uint32_t tag, std::uint32_t digest) {
    return digest == 0 || (digest <= wire::kDigestMax && tag <= wire::kDigestTagMax);
  }
  // The last byte of a region has a 64-bit offset.
  static bool fits_range(std::uint64_t offset, std::uint64_t length) { return length <= ~offset; }
  Operation send_handle(Instant deadline, std::uint32_t slot) {
    if (deadline != Instant::never()) {
      state.sends[slot].has_deadline = true;
      state.send_deadlines.insert(slot, deadline);
    }
    return {slot, state.sends[slot].generation, false};
  }
  Operation receive_handle(Instant deadline, std::uint32_t slot) {
    if (deadline != Instant::never() && state.receives[slot].state != ReceiveState::kEnded) {
      state.receives[slot].has_deadline = true;
      state.receive_deadlines.insert(slot, deadline);
    }
    return {slot, state.receives[slot].generation, true};
  }

  // Ends everything posted on the communicator or waiting for it.
  void end_all_of(Instant now, Communicator& communicator, Errc code);
  void unlink_aborted(const Communicator* communicator);
  void run_aborts(Instant now) {
    if (!incoming.abort_requests().empty()) run_abort_requests(now);
  }
  void run_abort_requests(Instant now);
  void abort(Instant now, const AbortRequest& request);
  void run_deadlines(Instant now);
  void cancel_later(Instant now, std::uint32_t slot);
  void run_peer_timers(Instant now, Peer& peer);
  void run_transitions(Instant now, Peer& peer);
  void update_timers();
  Instant peer_timer(const Peer& peer) const;

  State state;
  Outgoing outgoing;
  Transfers transfers;
  Incoming incoming;
  Recovery recovery;
  Connections connections;
  Assembler assembler;
  Dispatcher dispatcher;
};

}  // namespace zhinu::core

// Timers, deadlines, path transitions and aborts of an endpoint.
#include <algorithm>

#include "core/endpoint.h"
#include "core/endpoint_impl.h"

namespace zhinu::core {

namespace {

// What cannot end now, as there is no room to tell its sender, is tried again after this.
constexpr Duration kEndRetry = milliseconds(1);

}  // namespace

void Endpoint::Impl::run_deadlines(Instant now) {
  for (;;) {
    const std::uint32_t slot = state.send_deadlines.pop_expired(now);
    if (slot == DeadlineWheel::kNone) break;
    outgoing.end(slot, Errc::kDeadlineExceeded);
  }
  for (;;) {
    const std::uint32_t slot = state.receive_deadlines.pop_expired(now);
    if (slot == DeadlineWheel::kNone) break;
    const bool cancelled = state.receives[slot].cancelled;
    if (!incoming.end(now, slot, cancelled ? Errc::kCancelled : Errc::kDeadlineExceeded)) {
      state.receive_deadlines.insert(slot, now + kEndRetry);
    }
  }
}

void Endpoint::Impl::cancel_later(Instant now, std::uint32_t slot) {
  ReceiveRecord& record = state.receives[slot];
  record.cancelled = true;
  record.has_deadline = true;
  state.receive_deadlines.remove(slot);
  state.receive_deadlines.insert(slot, now + kEndRetry);
}

void Endpoint::Impl::run_peer_timers(Instant now, Peer& peer) {
  connections.handle_timeout(now, peer);
  if (peer.owed_since != Instant::never()) {
    if (now >= peer.owed_since + state.options.peer_timeout) {
      const bool connecting = peer.state == PeerState::kConnecting;
      connections.drop_peer(now, peer, Errc::kPeerUnreachable);
      connections.say_hello(now, peer);
      if (!connecting) return;
    } else if (!peer.silent_told && now >= peer.owed_since + state.options.silent_notice) {
      peer.silent_told = true;
      Event event;
      event.kind = EventKind::kPeerSilent;
      event.at = now;
      event.peer = peer.id;
      state.push_event(event);
    }
  }
  if (!peer.has_session()) return;
  peer.paths.handle_timeout(now);
  run_transitions(now, peer);
  recovery.handle_timeout(now, peer);
  if (peer.credit_probe_at <= now) outgoing.check_credit_probes(now, peer);
  for (std::size_t i = 1; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    Flow& flow = peer.flow(traffic_class);
    if (!flow.resend_waits || now < flow.resend_at) continue;
    // What else it may wait for, room in the window, comes with an ACK and not in time.
    flow.resend_waits = false;
    outgoing.activate(flow_id(peer.id, traffic_class));
  }
  if (peer.ack_due_at <= now || peer.paths.probe_due()) state.want_control(peer);
}

// What paths became, and what follows from it.
void Endpoint::Impl::run_transitions(Instant now, Peer& peer) {
  while (const auto transition = peer.paths.poll_transition()) {
    Event event;
    event.kind = EventKind::kPathChanged;
    event.at = now;
    event.peer = peer.id;
    event.path = transition->path;
    event.old_state = transition->from;
    event.new_state = transition->to;
    state.push_event(event);
    if (transition->to == PathState::kDead) {
      state.counters.add(Counter::kPathsDied);
      recovery.flush_path(now, peer, transition->path);
    } else if (transition->to == PathState::kGood && transition->from == PathState::kProbing) {
      state.counters.add(Counter::kPathsReturned);
    }
    for (std::size_t i = 1; i < kTrafficClasses; ++i) {
      outgoing.activate(flow_id(peer.id, static_cast<TrafficClass>(i)));
    }
    state.want_control(peer);
  }
}

Instant Endpoint::Impl::peer_timer(const Peer& peer) const {
  Instant at = connections.timeout(peer);
  if (peer.hello_due) at = Instant::never();
  if (peer.owed_since != Instant::never()) {
    at = std::min(at, peer.owed_since + (peer.silent_told ? state.options.peer_timeout
                                                          : state.options.silent_notice));
  }
  if (!peer.has_session()) return at;
  at = std::min(
      {at, peer.paths.timeout(), recovery.timeout(peer), peer.credit_probe_at, peer.ack_due_at});
  for (const Flow& flow : peer.flows) {
    if (flow.resend_waits) at = std::min(at, flow.resend_at);
  }
  return at;
}

void Endpoint::Impl::update_timers() {
  while (!state.dirty_timers.empty()) {
    Peer& peer = state.peer({state.dirty_timers.back()});
    state.dirty_timers.pop_back();
    peer.timer_dirty = false;
    state.timers.set(peer.id.value, peer_timer(peer));
  }
}

void Endpoint::Impl::end_all_of(Instant now, Communicator& communicator, Errc code) {
  for (std::uint32_t slot = 0; slot < state.sends.capacity(); ++slot) {
    const SendRecord& record = state.sends[slot];
    if (record.state == SendState::kFree || record.state == SendState::kEnded) continue;
    if (record.communicator != communicator.id.value) continue;
    if (record.kind == SendKind::kReadRequest) continue;  // ends with its read
    if (record.kind == SendKind::kReadAnswer) {
      outgoing.fail_answer(slot, code == Errc::kCancelled ? Errc::kPeerCancelled : code);
    } else {
      outgoing.end(slot, code);
    }
  }
  for (std::uint32_t slot = 0; slot < state.receives.capacity(); ++slot) {
    const ReceiveRecord& record = state.receives[slot];
    if (record.state == ReceiveState::kFree || record.state == ReceiveState::kEnded) continue;
    if (record.communicator != communicator.id.value) continue;
    if (incoming.end(now, slot, code)) continue;
    // No room to tell the sender one by one: the abort itself tells it.
    transfers.drop(now, slot, code);
  }
  incoming.drop_unexpected(communicator, code == Errc::kCancelled ? Errc::kPeerCancelled : code);
}

void Endpoint::Impl::unlink_aborted(const Communicator* communicator) {
  if (!communicator->aborted) return;
  Communicator** link = &state.aborted_head;
  while (*link != communicator) link = &(*link)->aborted_next;
  *link = communicator->aborted_next;
}

void Endpoint::Impl::run_abort_requests(Instant now) {
  auto& requests = incoming.abort_requests();
  while (!requests.empty()) {
    const AbortRequest request = requests.back();
    requests.pop_back();
    abort(now, request);
  }
}

void Endpoint::Impl::abort(Instant now, const AbortRequest& request) {
  Communicator* communicator = state.communicator(request.communicator);
  if (communicator == nullptr || communicator->aborted) return;
  communicator->aborted = true;
  communicator->abort_code = request.code;
  communicator->abort_reporter = request.reporter_rank;
  communicator->abort_other = request.other_rank;
  communicator->abort_reporter_digest = request.reporter_digest;
  communicator->abort_other_digest = request.other_digest;
  communicator->aborted_next = state.aborted_head;
  state.aborted_head = communicator;
  Event event;
  event.kind = EventKind::kAborted;
  event.at = now;
  event.communicator = communicator->id;
  event.code = request.code;
  event.reporter_rank = request.reporter_rank;
  event.other_rank = request.other_rank;
  event.reporter_digest = request.reporter_digest;
  event.other_digest = request.other_digest;
  state.push_event(event);
  end_all_of(now, *communicator, Errc::kAborted);
  for (const auto& peer : state.peers) {
    if (peer->state == PeerState::kClosed) continue;
    peer->aborts_due = true;
    state.want_control(*peer);
  }
}

}  // namespace zhinu::core

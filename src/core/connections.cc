#include "core/connections.h"

#include <algorithm>

namespace zhinu::core {

namespace {

HandshakeContext context_of(const State& state) {
  HandshakeContext context;
  context.identity = state.identity;
  context.version_min = state.options.version_min;
  context.version_max = state.options.version_max;
  context.path_count = static_cast<std::uint8_t>(state.options.paths_max);
  context.path_count_max = static_cast<std::uint8_t>(state.options.paths_max);
  context.packet_bytes_max = state.options.packet_bytes_max;
  context.eager_bytes_max = state.options.eager_bytes_max;
  context.hello_interval_first = state.options.hello_interval_first;
  context.hello_interval_max = state.options.hello_interval_max;
  context.cookie_lifetime = state.options.cookie_lifetime;
  context.sealer_limits.rekey_packets = state.options.rekey_packets;
  context.sealer_limits.rekey_interval = state.options.rekey_interval;
  return context;
}

constexpr std::uint8_t kCloseRepeats = 3;
// A peer that goes on sending did not get them; it is told again, but not more often.
constexpr Duration kCloseAgain = milliseconds(10);
// An attempt without an answer, or a session in which the peer was not heard, for this many of
// its longest HELLO intervals has failed: the peer's HELLO is answered then.
constexpr std::int64_t kConfirmHellos = 2;

}  // namespace

Connections::Connections(State& state, Outgoing& outgoing, Incoming& incoming, Transfers& transfers,
                         Recovery& recovery)
    : state_(state),
      outgoing_(outgoing),
      incoming_(incoming),
      transfers_(transfers),
      recovery_(recovery),
      responder_(context_of(state), state.entropy),
      by_connection_(state.options.peers_max * 3),
      by_rank_(state.options.peers_max) {}

HandshakeContext Connections::context() const { return context_of(state_); }

std::uint64_t Connections::fresh_connection() {
  std::array<std::byte, 8> bytes{};
  for (;;) {
    state_.entropy.fill(bytes);
    const auto id = load_le<std::uint64_t>(bytes.data());
    if (id != 0 && by_connection_.find(id) == IndexTable::kNone) return id;
  }
}

Result<PeerId> Connections::add_peer(Instant now, const PeerConfig& config) {
  if (config.paths.empty() || config.rank == state_.identity.rank) return Errc::kInvalidArgument;
  if (config.paths.size() > state_.options.paths_max) return Errc::kFull;
  for (const PathConfig& path : config.paths) {
    if (path.packet_bytes_max < kPacketBytesMin) return Errc::kInvalidArgument;
  }
  if (by_rank_.find(config.rank) != IndexTable::kNone) return Errc::kExists;
  if (state_.peers.size() == state_.options.peers_max) return Errc::kFull;
  const PeerId id{static_cast<std::uint32_t>(state_.peers.size())};
  std::array<std::byte, 8> seed{};
  state_.entropy.fill(seed);
  auto peer = std::make_unique<Peer>(state_.options, load_le<std::uint64_t>(seed.data()));
  peer->id = id;
  peer->rank = config.rank;
  peer->reserve_paths(config.paths.size());
  for (const PathConfig& path : config.paths) {
    const auto added = peer->add_path(path);
    if (!added.ok()) return added.error();
  }
  state_.peers.push_back(std::move(peer));
  state_.timers.grow(static_cast<std::uint32_t>(state_.peers.size()));
  by_rank_.insert(config.rank, id.value);
  start_hello(now, state_.peer(id));
  return id;
}

Result<PeerId> Connections::find_peer(std::uint32_t rank) const {
  const std::uint32_t index = by_rank_.find(rank);
  if (index == IndexTable::kNone) return Errc::kUnknownPeer;
  return PeerId{index};
}

void Connections::start_hello(Instant now, Peer& peer) {
  if (peer.attempt_connection != 0) forget_connection(peer.attempt_connection);
  peer.attempt_connection = fresh_connection();
  by_connection_.insert(peer.attempt_connection, peer.id.value);
  peer.initiator.emplace(now, context(), peer.rank, peer.attempt_connection, state_.entropy);
  peer.state = PeerState::kConnecting;
  peer.answered_at = now;
  if (peer.owed_since == Instant::never()) peer.owed_since = now;
  state_.touch_timer(peer);
}

Peer* Connections::find_connection(std::uint64_t connection) {
  const std::uint32_t index = by_connection_.find(connection);
  return index == IndexTable::kNone ? nullptr : state_.peers[index].get();
}

bool Connections::is_next_session(const Peer& peer, std::uint64_t connection) const {
  return peer.next_session.has_value() && peer.next_session->local_connection == connection;
}

Status Connections::handle_handshake(Instant now, const Arrival& arrival, ByteSpan datagram) {
  wire::HandshakePacket packet;
  Status status = check_and_decode(state_.identity, datagram, packet);
  if (status.ok()) {
    status = packet.kind == wire::HandshakeKind::kHello ? handle_hello(now, arrival, packet)
                                                        : handle_answer(now, packet);
  }
  if (!status.ok()) state_.counters.add(drop_counter(status.error()));
  return status;
}

// Two HELLOs crossed: the lower rank's goes on, and the peer will answer ours, or has
// answered it and waits for our first packet. Unless ours do not reach it: its NIC may have
// another address by now.
bool Connections::crossed(Instant now, const Peer& peer, const wire::HandshakePacket& hello) const {
  const Duration patience = kConfirmHellos * state_.options.hello_interval_max;
  if (peer.state == PeerState::kConnecting) {
    return peer.initiator.has_value() && now < peer.answered_at + patience;
  }
  return peer.state == PeerState::kProving && peer.session.incarnation == hello.incarnation &&
         now < peer.session_at + patience;
}

void Connections::push_answer(const Arrival& arrival, const wire::HandshakePacket& packet) {
  if (answer_count_ == kAnswersMax) return state_.counters.add(Counter::kDropNoRoom);
  Answer& answer = answers_[(answer_head_ + answer_count_) % kAnswersMax];
  ++answer_count_;
  answer.packet = packet;
  answer.route = Route{};
  answer.route.to = arrival.from;
  answer.route.nic = arrival.nic;
}

Status Connections::handle_hello(Instant now, const Arrival& arrival,
                                 const wire::HandshakePacket& hello) {
  const auto known = find_peer(hello.rank);
  Peer* peer = known.ok() ? &state_.peer(known.value()) : nullptr;
  if (peer != nullptr && peer->welcome_for == hello.source_connection &&
      peer->welcome_incarnation == hello.incarnation) {
    push_answer(arrival, peer->welcome);  // our WELCOME was lost, or this HELLO was repeated
    return {};
  }
  const std::uint64_t connection = fresh_connection();
  auto reply = responder_.handle_hello(now, arrival.from, hello, connection, state_.entropy);
  if (!reply.ok()) {
    const Errc code = reply.error();
    if (code != Errc::kBadKind && code != Errc::kUnknownConnection) {
      push_answer(arrival, responder_.refusal(hello, code));
    }
    return code;
  }
  Responder::Reply& answer = reply.value();
  if (answer.established.has_value()) {
    if (peer == nullptr) {
      push_answer(arrival, responder_.refusal(hello, Errc::kUnknownPeer));
      return Errc::kUnknownPeer;
    }
    if (state_.identity.rank < peer->rank && crossed(now, *peer, hello)) return {};
    if (peer->next_session.has_value()) forget_connection(peer->next_session->local_connection);
    by_connection_.insert(connection, peer->id.value);
    peer->next_session = std::move(answer.established);
    peer->welcome = *answer.packet;
    peer->welcome_for = hello.source_connection;
    peer->welcome_incarnation = hello.incarnation;
  }
  if (answer.packet.has_value()) push_answer(arrival, *answer.packet);
  return {};
}

Status Connections::handle_answer(Instant now, const wire::HandshakePacket& packet) {
  Peer* peer = find_connection(packet.connection);
  if (peer == nullptr || !peer->initiator.has_value() ||
      peer->attempt_connection != packet.connection) {
    return Errc::kUnknownConnection;
  }
  auto result = peer->initiator->handle(now, packet);
  state_.touch_timer(*peer);
  if (!result.ok()) return result.error();
  peer->hello_unanswered = false;
  peer->answered_at = now;
  if (!result.value().has_value()) return {};
  if (peer->next_session.has_value()) {
    forget_connection(peer->next_session->local_connection);
    peer->next_session.reset();
  }
  peer->attempt_connection = 0;  // it names the session now
  install(now, *peer, std::move(*result.value()));
  // Lets the responder know at once that its WELCOME came.
  peer->flights[peer->hello_path].probe_wanted = true;
  state_.want_control(*peer);
  return {};
}

void Connections::adopt_session(Instant now, Peer& peer) {
  Established session = std::move(*peer.next_session);
  peer.next_session.reset();
  if (peer.attempt_connection != 0) {
    forget_connection(peer.attempt_connection);
    peer.attempt_connection = 0;
  }
  install(now, peer, std::move(session));
}

// Packet numbers start over with new keys, and what was known of the paths is old.
void Connections::renew_paths(Peer& peer) {
  std::array<std::byte, 8> seed{};
  state_.entropy.fill(seed);
  for (const auto& flight : peer.flights) ZHINU_ASSERT(flight.sent.empty());
  peer.paths.renew(load_le<std::uint64_t>(seed.data()));
}

// In a new session the peer must hear of every abort, whatever it heard in the last one.
void Connections::repeat_aborts(Peer& peer) {
  const std::size_t word = peer.id.value / 64;
  const std::uint64_t others = ~(1ULL << (peer.id.value % 64));
  for (Communicator* communicator = state_.aborted_head; communicator != nullptr;
       communicator = communicator->aborted_next) {
    communicator->abort_told[word] &= others;
    communicator->abort_sent[word] &= others;
    peer.aborts_due = true;
  }
}

// The session becomes the peer's current one. Nothing but probes leaves in it before the peer
// was heard: until then it can be replaced without a trace.
void Connections::install(Instant now, Peer& peer, Established session) {
  if (peer.state == PeerState::kUp) {
    const bool restarted = session.incarnation != peer.session.incarnation;
    drop_peer(now, peer, restarted ? Errc::kPeerRestarted : Errc::kPeerClosed);
  } else {
    recovery_.forget(peer);
  }
  if (peer.session.local_connection != 0) forget_connection(peer.session.local_connection);
  if (peer.had_session) renew_paths(peer);
  peer.had_session = true;
  peer.session = std::move(session);
  peer.initiator.reset();
  peer.in_path_count = peer.session.path_count;
  state_.in_paths.release(peer.in_paths);
  peer.former_address.reset();
  peer.ack_mask = 0;
  peer.ack_due_at = Instant::never();
  peer.state = PeerState::kProving;
  peer.session_at = now;
  peer.owed_since = Instant::never();
  peer.silent_told = false;
  peer.close_code.reset();
  peer.close_again_at = Instant::never();
  state_.touch_timer(peer);
}

void Connections::confirm(Instant now, Peer& peer) {
  ZHINU_ASSERT(peer.state == PeerState::kProving);
  peer.state = PeerState::kUp;
  repeat_aborts(peer);
  Event event;
  event.kind = EventKind::kPeerUp;
  event.at = now;
  event.peer = peer.id;
  state_.push_event(event);
  for (std::size_t i = 1; i < kTrafficClasses; ++i) {
    outgoing_.activate(flow_id(peer.id, static_cast<TrafficClass>(i)));
  }
  state_.want_control(peer);
  state_.touch_timer(peer);
}

void Connections::close_peer(Instant now, Peer& peer, Errc code) {
  const bool had_session = peer.has_session();
  drop_peer(now, peer, code);
  if (peer.attempt_connection != 0) {
    forget_connection(peer.attempt_connection);
    peer.attempt_connection = 0;
  }
  peer.initiator.reset();
  peer.state = PeerState::kClosed;
  if (had_session) {
    peer.close_code = code;
    peer.close_repeats = kCloseRepeats;
    peer.close_again_at = now + kCloseAgain;
    state_.want_control(peer);
  }
}

void Connections::close_again(Instant now, Peer& peer) {
  if (now < peer.close_again_at || peer.close_code.has_value()) return;
  peer.close_again_at = now + kCloseAgain;
  peer.close_code = Errc::kPeerClosed;
  peer.close_repeats = 1;
  state_.want_control(peer);
}

void Connections::drop_peer(Instant now, Peer& peer, Errc code) {
  recovery_.forget(peer);
  incoming_.drop_unexpected_of(peer.id);
  for (std::uint32_t slot = 0; slot < state_.receives.capacity(); ++slot) {
    ReceiveRecord& record = state_.receives[slot];
    if (record.state == ReceiveState::kFree || record.state == ReceiveState::kEnded) continue;
    if (record.peer != peer.id) continue;
    if (record.state == ReceiveState::kMatched || record.state == ReceiveState::kIncoming) {
      transfers_.drop(now, slot, code);
    } else if (record.state != ReceiveState::kNotifying) {
      static_cast<void>(incoming_.end(now, slot, code));
    }
  }
  transfers_.release_notifications(peer.id);
  outgoing_.drop_peer(peer, code);
  // Last, as reads that end here cancel their requests. Sent in the next session, a cancel
  // would void a number of that session.
  while (!peer.cancels.empty()) {
    const std::uint32_t slot = peer.cancels.pop_front(state_.sends);
    state_.sends[slot].cancel_pending = false;
    state_.try_release_send(slot);
  }
  while (!peer.credits.empty()) {
    state_.channels[peer.credits.pop_front(state_.channels)].in_credit_queue = false;
  }
  state_.forget_channels_of(peer.id);
  for (Flow& flow : peer.flows) flow.restart(state_.options.window);
  peer.ack_mask = 0;
  peer.ack_due_at = Instant::never();
  peer.probe_answer_count = 0;
  peer.retired_grant_count = 0;
  peer.aborts_due = false;
  peer.welcome_for = 0;
  peer.credit_probe_at = Instant::never();
  Event event;
  event.kind = EventKind::kPeerDown;
  event.at = now;
  event.peer = peer.id;
  event.code = code;
  state_.push_event(event);
  state_.touch_timer(peer);
}

bool Connections::next_handshake(Instant now, Transmit& out) {
  if (answer_count_ > 0) {
    const Answer& answer = answers_[answer_head_];
    answer_head_ = (answer_head_ + 1) % kAnswersMax;
    --answer_count_;
    out.route = answer.route;
    out.packet = nullptr;
    out.handshake = answer.packet;
    return true;
  }
  if (hello_due_ == 0) return false;
  for (const auto& owner : state_.peers) {
    Peer& peer = *owner;
    if (!peer.hello_due) continue;
    peer.hello_due = false;
    --hello_due_;
    if (!peer.initiator.has_value()) continue;
    const auto hello = peer.initiator->poll_transmit(now);
    state_.touch_timer(peer);
    if (!hello.has_value()) continue;
    // A repeat tries the next path: the last one may be dead. What follows an answer stays
    // on the path of that answer, as a cookie is bound to the address that it was given to.
    if (peer.hello_unanswered) {
      peer.hello_path = static_cast<std::uint8_t>(
          peer.hello_path + 1U < peer.paths.size() ? peer.hello_path + 1 : 0);
    }
    peer.hello_unanswered = true;
    const PathConfig& path = peer.paths.config(peer.hello_path);
    out.route =
        Route{peer.id, path.remote, path.key, path.nic, peer.hello_path, TrafficClass::kControl};
    out.packet = nullptr;
    out.handshake = *hello;
    return true;
  }
  return false;
}

Instant Connections::timeout(const Peer& peer) const {
  return peer.initiator.has_value() ? peer.initiator->timeout() : Instant::never();
}

void Connections::handle_timeout(Instant now, Peer& peer) {
  if (!peer.initiator.has_value() || now < peer.initiator->timeout() || peer.hello_due) return;
  peer.hello_due = true;
  ++hello_due_;
}

}  // namespace zhinu::core

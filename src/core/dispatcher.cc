#include "core/dispatcher.h"

#include <algorithm>

#include "core/peer_address.h"
namespace zhinu::core {

namespace {

bool elicits_ack(const wire::Packet& packet) {
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const wire::FrameKind kind = packet.frames[i].kind;
    if (kind != wire::FrameKind::kAck && kind != wire::FrameKind::kClose &&
        kind != wire::FrameKind::kPadding) {
      return true;
    }
  }
  return false;
}

// A message, whole or announced. An announcement whose token means none could not be answered.
bool is_message(const wire::Frame& frame) {
  return frame.kind == wire::FrameKind::kMessage || frame.kind == wire::FrameKind::kMessageDigest ||
         (frame.kind == wire::FrameKind::kAnnounce && !is_run(frame.token));
}

bool names_a_flow(TrafficClass traffic_class) { return traffic_class != TrafficClass::kControl; }

}  // namespace

Status Dispatcher::drop(Errc code) {
  state_.counters.add(drop_counter(code));
  return code;
}

Status Dispatcher::handle_datagram(Instant now, const Arrival& arrival, ByteSpan datagram) {
  Status status;
  while (!datagram.empty()) {
    state_.counters.add(Counter::kPacketsReceived);
    std::size_t bytes = 0;
    if (wire::is_handshake(datagram)) {
      bytes = std::min(datagram.size(), wire::kHandshakeBytes);
      status = connections_.handle_handshake(now, arrival, datagram.first(bytes));
    } else {
      const Status header = wire::decode_header(datagram, packet_.header, bytes);
      // Without a length the rest cannot be cut into packets.
      if (!header.ok()) return drop(header.error());
      const Status result = handle_packet(now, arrival, datagram.first(bytes));
      if (!result.ok()) status = result;
    }
    state_.counters.add(Counter::kBytesReceived, bytes);
    datagram = datagram.subspan(bytes);
  }
  return status;
}

// Finds the connection, expands the number, checks replay and tag. Changes nothing
// but keys of a next phase that are proved by the tag.
Status Dispatcher::verify(Instant now, ByteSpan packet, Peer*& peer, InPath*& path) {
  wire::Header& header = packet_.header;
  peer = connections_.find_connection(header.connection);
  if (peer == nullptr) return Errc::kUnknownConnection;
  if (connections_.is_next_session(*peer, header.connection)) {
    // The first packets of a session that the peer confirms with them.
    const std::uint64_t number = wire::expand_number(static_cast<std::uint32_t>(header.number), 0);
    if (!peer->next_session->sealer.open(now, packet, header.path, number, header.key_phase)) {
      return Errc::kBadTag;
    }
    connections_.adopt_session(now, *peer);
  } else if (peer->session.local_connection != header.connection ||
             peer->state == PeerState::kConnecting) {
    return Errc::kUnknownConnection;
  }
  if (header.path >= peer->in_path_count) return Errc::kBadPath;
  path = peer->in_paths[header.path];
  const bool is_first = path == nullptr;
  if (is_first) path = &unheard_;
  header.number =
      wire::expand_number(static_cast<std::uint32_t>(header.number), path->expected_number());
  if (const Status fresh = path->check(header.number); !fresh.ok()) return fresh;
  if (!peer->session.sealer.open(now, packet, header.path, header.number, header.key_phase)) {
    return Errc::kBadTag;
  }
  if (!peer->has_session()) {
    connections_.close_again(now, *peer);
    return Errc::kUnknownConnection;
  }
  if (is_first) path = state_.in_paths.acquire(peer->in_paths, header.path);
  return path != nullptr ? Errc::kOk : Errc::kFull;
}

Status Dispatcher::handle_packet(Instant now, const Arrival& arrival, ByteSpan packet) {
  Peer* peer = nullptr;
  InPath* path = nullptr;
  if (const Status genuine = verify(now, packet, peer, path); !genuine.ok()) {
    return drop(genuine.error());
  }
  if (names_a_flow(packet_.header.traffic_class)) {
    packet_.header.message_base =
        wire::expand_number(static_cast<std::uint32_t>(packet_.header.message_base),
                            peer->flow(packet_.header.traffic_class).incoming.floor());
  }
  if (const Status frames = wire::decode_frames(packet, packet_); !frames.ok()) {
    connections_.close_peer(now, *peer, Errc::kProtocolViolation);
    return drop(frames.error());
  }
  const wire::Header header = packet_.header;
  const std::uint64_t session = peer->session.local_connection;
  heard(now, *peer, *path, arrival);
  state_.arriving_path = header.path;
  peer->packet_refusals = peer->refusal_sequence;
  const Taken taken = handle_frames(now, *peer);
  // A close among the frames ended the session; its paths are gone.
  if (peer->state != PeerState::kUp || peer->session.local_connection != session) return {};
  if (taken == Taken::kNoRoom) {
    transfers_.take_back_refusals(*peer, peer->packet_refusals);
    return drop(Errc::kFull);
  }
  if (taken == Taken::kBad) {
    connections_.close_peer(now, *peer, Errc::kProtocolViolation);
    return Errc::kProtocolViolation;
  }
  path->on_packet(now, header.number, static_cast<std::uint32_t>(packet.size()),
                  elicits_ack(packet_), arrival.ecn_marked);
  if (taken == Taken::kDuplicate) {
    path->force_ack(now);
    peer->paths.rotate_ack_path();
  }
  if (path->owes_ack()) {
    peer->ack_mask |= 1ULL << header.path;
    peer->ack_due_at = std::min(peer->ack_due_at, path->ack_deadline(state_.options.ack_delay,
                                                                     state_.options.ack_bytes_max));
    if (peer->ack_due_at <= now) {
      state_.want_control(*peer);
    } else if (peer->ack_due_at < state_.timers.of(peer->id.value)) {
      state_.touch_timer(*peer);
    }
  }
  return {};
}

// A genuine packet: the peer lives, and its address is where it came from.
void Dispatcher::heard(Instant now, Peer& peer, InPath& path, const Arrival& arrival) {
  peer.last_heard = now;
  if (peer.state == PeerState::kProving) {
    connections_.confirm(now, peer);
    state_.touch_timer(peer);
  }
  if (peer.silent_told) state_.touch_timer(peer);
  peer.silent_told = false;
  peer.owed_since = peer.eliciting > 0 ? now : Instant::never();
  if (path.from_known && path.from == arrival.from) return;
  if (path.from_known && packet_.header.number < path.expected_number()) return;
  if (path.from_known) state_.counters.add(Counter::kAddressChanges);
  if (!learn_address(now, peer, path, arrival)) return;
  state_.want_control(peer);
  state_.touch_timer(peer);
}

Taken Dispatcher::handle_frames(Instant now, Peer& peer) {
  refused_.count = 0;
  refused_.at = now;
  Taken worst = Taken::kYes;
  const TrafficClass traffic_class = packet_.header.traffic_class;
  Flow* const flow = names_a_flow(traffic_class) ? &peer.flow(traffic_class) : nullptr;
  const FlowId id = flow_id(peer.id, traffic_class);
  for (std::uint32_t i = 0; i < packet_.frame_count; ++i) {
    const wire::Frame& frame = packet_.frames[i];
    Taken taken = Taken::kBad;
    if (flow != nullptr && is_message(frame)) {
      taken = incoming_.on_message(now, *flow, id, frame);
    } else {
      taken = handle_frame(now, peer, frame);
    }
    if (taken == Taken::kBad) {
      state_.counters.add(Counter::kDropBadFrame);
      return taken;
    }
    if (taken > worst) worst = taken;
    if (peer.state != PeerState::kUp) break;
  }
  return worst;
}

Taken Dispatcher::handle_frame(Instant now, Peer& peer, const wire::Frame& frame) {
  using wire::FrameKind;
  state_.touch_timer(peer);
  switch (frame.kind) {
    case FrameKind::kPadding: return Taken::kYes;
    case FrameKind::kAck: {
      const auto ranges = std::span(packet_.ack_ranges).subspan(frame.token, frame.peer_token);
      if (recovery_.on_ack(now, peer, frame, ranges, refused_)) return Taken::kYes;
      state_.counters.add(Counter::kDropBadAck);
      return Taken::kBad;
    }
    case FrameKind::kGrant:
      if (!names_a_flow(frame.traffic_class)) return Taken::kBad;
      outgoing_.on_grant(flow_id(peer.id, frame.traffic_class), frame.token,
                         static_cast<std::uint32_t>(frame.number), frame.offset);
      return Taken::kYes;
    case FrameKind::kCredit:
      if (!names_a_flow(frame.traffic_class)) return Taken::kBad;
      outgoing_.on_credit(flow_id(peer.id, frame.traffic_class), frame.communicator, frame.offset);
      return Taken::kYes;
    case FrameKind::kCreditProbe:
      if (!names_a_flow(frame.traffic_class)) return Taken::kBad;
      repeat_credit(peer, flow_id(peer.id, frame.traffic_class), frame.communicator);
      return Taken::kYes;
    case FrameKind::kRefuse: return handle_refuse(peer, frame);
    case FrameKind::kCancel:
      if (!names_a_flow(frame.traffic_class)) return Taken::kBad;
      incoming_.on_cancel(now, flow_id(peer.id, frame.traffic_class),
                          static_cast<std::uint32_t>(frame.number), frame.code);
      return Taken::kYes;
    case FrameKind::kAbort: handle_abort(frame); return Taken::kYes;
    case FrameKind::kClose:
      connections_.drop_peer(
          now, peer, frame.code == Errc::kProtocolViolation ? frame.code : Errc::kPeerClosed);
      peer.state = PeerState::kClosed;
      return Taken::kYes;
    case FrameKind::kPathProbe:
      if (peer.probe_answer_count < Peer::kProbeAnswersMax && frame.offset != 0) {
        peer.probe_answers[peer.probe_answer_count++] = {frame.offset, frame.flags};
        state_.want_control(peer);
      }
      return Taken::kYes;
    case FrameKind::kPathResponse:
      if (frame.flags < peer.paths.size()) {
        peer.paths.on_probe_response(now, frame.flags, frame.offset);
      }
      return Taken::kYes;
    case FrameKind::kMessage:
    case FrameKind::kMessageDigest:
    case FrameKind::kAnnounce: return Taken::kBad;  // of class control, or without a token
    case FrameKind::kSegment:
    case FrameKind::kPut:
    case FrameKind::kWrite:
    case FrameKind::kRead:
    case FrameKind::kReadData:
    case FrameKind::kReadAnnounce: return handle_one_sided(now, peer, frame);
  }
  return Taken::kBad;
}

// Segments, and what concerns regions.
Taken Dispatcher::handle_one_sided(Instant now, Peer& peer, const wire::Frame& frame) {
  const TrafficClass traffic_class = packet_.header.traffic_class;
  if (!names_a_flow(traffic_class)) return Taken::kBad;
  using wire::FrameKind;
  const bool announces = frame.kind == FrameKind::kWrite || frame.kind == FrameKind::kReadAnnounce;
  if (announces && is_run(frame.token)) return Taken::kBad;  // it could not be answered
  const FlowId id = flow_id(peer.id, traffic_class);
  if (frame.kind == FrameKind::kSegment) {
    return transfers_.on_segment(now, id, frame.number, frame.offset,
                                 {frame.payload, static_cast<std::size_t>(frame.length)});
  }
  if (frame.kind == FrameKind::kPut) return incoming_.on_put(now, id, frame);
  if (frame.kind == FrameKind::kWrite) return incoming_.on_write(now, id, frame);
  if (frame.kind == FrameKind::kRead) return incoming_.on_read(now, id, frame);
  if (frame.kind == FrameKind::kReadData) return incoming_.on_read_data(now, id, frame);
  ZHINU_ASSERT(frame.kind == FrameKind::kReadAnnounce);
  return incoming_.on_read_announce(now, id, frame);
}

Taken Dispatcher::handle_refuse(Peer& peer, const wire::Frame& frame) {
  if (!names_a_flow(frame.traffic_class)) return Taken::kBad;
  const bool whole = is_run(frame.token);
  if (!whole && frame.code != Errc::kNotHeld) {
    outgoing_.on_refused(flow_id(peer.id, frame.traffic_class), frame.token,
                         static_cast<std::uint32_t>(frame.number), frame.code);
    return Taken::kYes;
  }
  if (refused_.count == refused_.entries.size()) return Taken::kBad;
  refused_.entries[refused_.count++] = {frame.traffic_class, !whole, frame.code,
                                        static_cast<std::uint32_t>(frame.number),
                                        whole ? run_of_token(frame.token) : 1};
  return Taken::kYes;
}

// The peer asks what it may send: repeats credit and grants, which are cumulative.
void Dispatcher::repeat_credit(Peer& peer, FlowId flow, std::uint16_t communicator) {
  transfers_.repeat_grants(flow, communicator);
  const std::uint32_t slot = state_.find_channel(flow, communicator);
  if (slot == kNoSlot) return;
  Channel& channel = state_.channels[slot];
  if (channel.credit_given == 0 || channel.in_credit_queue) return;
  channel.credit_dirty = true;
  channel.in_credit_queue = true;
  peer.credits.push_back(state_.channels, slot);
  state_.want_control(peer);
}

void Dispatcher::handle_abort(const wire::Frame& frame) {
  incoming_.ask_abort({frame.communicator, frame.code, frame.tag, frame.token, frame.digest,
                       static_cast<std::uint32_t>(frame.number)});
}

}  // namespace zhinu::core

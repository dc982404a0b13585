// The endpoint's face: checks arguments, runs timers and aborts, and hands each
// call to the module whose concern it is.
#include "core/endpoint.h"

#include <algorithm>

#include "core/endpoint_impl.h"

namespace zhinu::core {

Endpoint::Endpoint(const EndpointOptions& options, const Identity& identity, Entropy& entropy,
                   Misbehaviour* misbehaviour)
    : impl_(std::make_unique<Impl>(options, identity, entropy, misbehaviour)) {}
Endpoint::~Endpoint() = default;

Result<PeerId> Endpoint::add_peer(Instant now, const PeerConfig& config) {
  auto added = impl_->connections.add_peer(now, config);
  impl_->update_timers();
  return added;
}

Result<std::uint8_t> Endpoint::add_path(Instant, PeerId peer, const PathConfig& config) {
  if (!impl_->state.has_peer(peer)) return Errc::kUnknownPeer;
  if (config.packet_bytes_max < kPacketBytesMin) return Errc::kInvalidArgument;
  return impl_->state.peer(peer).add_path(config);
}

Status Endpoint::close_peer(Instant now, PeerId peer) {
  if (!impl_->state.has_peer(peer)) return Errc::kUnknownPeer;
  impl_->connections.close_peer(now, impl_->state.peer(peer), Errc::kPeerClosed);
  return {};
}

Result<PeerId> Endpoint::find_peer(std::uint32_t rank) const {
  return impl_->connections.find_peer(rank);
}

bool Endpoint::peer_is_up(PeerId peer) const {
  return impl_->state.has_peer(peer) && impl_->state.peer(peer).state == PeerState::kUp;
}

Status Endpoint::create_communicator(CommunicatorId id) {
  State& state = impl_->state;
  if (id.is_none()) return Errc::kInvalidArgument;
  if (state.communicator(id.value) != nullptr) return Errc::kExists;
  auto& page = state.communicator_pages[id.value >> 8];
  if (!page) page = std::make_unique<State::CommunicatorPage>();
  auto communicator = std::make_unique<Communicator>();
  communicator->id = id;
  communicator->abort_told.resize(state.options.peers_max / 64 + 1);
  communicator->abort_sent.resize(state.options.peers_max / 64 + 1);
  if (state.communicator_count++ == state.reserves) {  // else one that is gone left its reserve
    ++state.reserves;
    state.held.grow(BlockPool::blocks_for(state.options.communicator_reserve_bytes));
  }
  (*page)[id.value & 0xff] = std::move(communicator);
  impl_->incoming.reserve_aborts(state.communicator_count);
  impl_->incoming.adopt_orphans(Instant{}, *state.communicator(id.value));
  return {};
}

Status Endpoint::destroy_communicator(Instant now, CommunicatorId id) {
  State& state = impl_->state;
  Communicator* communicator = state.communicator(id.value);
  if (communicator == nullptr) return Errc::kUnknownCommunicator;
  impl_->end_all_of(now, *communicator, Errc::kCancelled);
  impl_->unlink_aborted(communicator);
  state.release_channels_of(id.value);
  (*state.communicator_pages[id.value >> 8])[id.value & 0xff].reset();
  --state.communicator_count;
  return {};
}

Status Endpoint::abort(Instant now, CommunicatorId id, Errc code) {
  Communicator* communicator = impl_->state.communicator(id.value);
  if (communicator == nullptr) return Errc::kUnknownCommunicator;
  if (communicator->aborted) return {};
  impl_->abort(now, {id.value, code == Errc::kOk ? Errc::kAborted : code,
                     impl_->state.identity.rank, impl_->state.identity.rank, 0, 0});
  return {};
}

Result<RegionKey> Endpoint::register_region(MutableByteSpan memory, RegionAccess access) {
  return impl_->state.regions.add(memory, access, impl_->state.entropy);
}

Status Endpoint::revoke_region(Instant now, RegionKey region) {
  State& state = impl_->state;
  if (const Status removed = state.regions.remove(region); !removed.ok()) return removed;
  for (std::uint32_t slot = 0; slot < state.receives.capacity(); ++slot) {
    const ReceiveRecord& record = state.receives[slot];
    const bool writes =
        record.kind == ReceiveKind::kIncomingWrite && record.region_key == region.value &&
        (record.state == ReceiveState::kMatched || record.state == ReceiveState::kIncoming);
    if (writes) impl_->transfers.revoke(now, slot);
  }
  for (std::uint32_t slot = 0; slot < state.sends.capacity(); ++slot) {
    const SendRecord& record = state.sends[slot];
    if (record.kind == SendKind::kReadAnswer && record.region_key == region.value) {
      impl_->outgoing.fail_answer(slot, Errc::kRegionRefused);
    }
  }
  return {};
}

Result<Operation> Endpoint::send(Instant, const SendArgs& args) {
  Impl& impl = *impl_;
  const Impl::Target to = impl.find_target(args.peer, args.traffic_class, args.communicator);
  if (to.error != Errc::kOk) return to.error;
  if (!Impl::fits_digest(args.tag, args.digest)) return Errc::kInvalidArgument;
  const std::uint32_t slot = impl.outgoing.post_send(*to.peer, *to.communicator, args);
  if (slot == kNoSlot) return Errc::kFull;
  return impl.send_handle(args.deadline, slot);
}

Result<Operation> Endpoint::receive(Instant now, const ReceiveArgs& args) {
  Impl& impl = *impl_;
  const Impl::Target from =
      args.peer.is_none() ? impl.find_target(args.traffic_class, args.communicator)
                          : impl.find_target(args.peer, args.traffic_class, args.communicator);
  if (from.error != Errc::kOk) return from.error;
  if (!Impl::fits_digest(args.tag, args.digest)) return Errc::kInvalidArgument;
  const std::uint32_t slot = impl.incoming.post_receive(now, *from.communicator, args);
  if (slot == kNoSlot) return Errc::kFull;
  const Operation operation = impl.receive_handle(args.deadline, slot);
  impl.run_aborts(now);
  return operation;
}

Result<Operation> Endpoint::write(Instant, const WriteArgs& args) {
  Impl& impl = *impl_;
  const Impl::Target to = impl.find_target(args.peer, args.traffic_class, args.communicator);
  if (to.error != Errc::kOk) return to.error;
  if (!Impl::fits_range(args.offset, args.data.size())) return Errc::kInvalidArgument;
  const std::uint32_t slot = impl.outgoing.post_write(args);
  if (slot == kNoSlot) return Errc::kFull;
  return impl.send_handle(args.deadline, slot);
}

Result<Operation> Endpoint::read(Instant, const ReadArgs& args) {
  Impl& impl = *impl_;
  const Impl::Target from = impl.find_target(args.peer, args.traffic_class, args.communicator);
  if (from.error != Errc::kOk) return from.error;
  if (!Impl::fits_range(args.offset, args.buffer.size())) return Errc::kInvalidArgument;
  const std::uint32_t slot = impl.incoming.post_read(args);
  if (slot == kNoSlot) return Errc::kFull;
  return impl.receive_handle(args.deadline, slot);
}

Status Endpoint::cancel(Instant now, Operation operation) {
  State& state = impl_->state;
  if (operation.receives) {
    if (operation.slot >= state.receives.capacity()) return Errc::kUnknownOperation;
    const ReceiveRecord& record = state.receives[operation.slot];
    if (record.state == ReceiveState::kFree || record.generation != operation.generation) {
      return Errc::kUnknownOperation;
    }
    const bool ended = impl_->incoming.end(now, operation.slot, Errc::kCancelled);
    if (!ended) impl_->cancel_later(now, operation.slot);
    return {};
  }
  if (operation.slot >= state.sends.capacity()) return Errc::kUnknownOperation;
  const SendRecord& record = state.sends[operation.slot];
  if (record.state == SendState::kFree || record.generation != operation.generation ||
      record.polled) {
    return Errc::kUnknownOperation;
  }
  impl_->outgoing.end(operation.slot, Errc::kCancelled);
  return {};
}

Status Endpoint::handle_datagram(Instant now, const Arrival& arrival, ByteSpan datagram) {
  const Status status = impl_->dispatcher.handle_datagram(now, arrival, datagram);
  impl_->run_aborts(now);
  return status;
}

void Endpoint::handle_timeout(Instant now) {
  Impl& impl = *impl_;
  impl.update_timers();
  impl.run_deadlines(now);
  impl.transfers.handle_timeout(now);
  // Each peer at most once a call: a timer that stays due waits for the next, and does not
  // keep the timers of others from their turn.
  while (impl.state.timers.earliest() <= now) {
    Peer& peer = impl.state.peer({impl.state.timers.earliest_owner()});
    impl.state.timers.set(peer.id.value, Instant::never());
    impl.state.counters.add(Counter::kTimersFired);
    impl.run_peer_timers(now, peer);
    impl.state.touch_timer(peer);
  }
  impl.run_aborts(now);
}

Instant Endpoint::poll_timeout() const {
  impl_->update_timers();
  return std::min({impl_->state.timers.earliest(), impl_->transfers.timeout(),
                   impl_->state.send_deadlines.next(), impl_->state.receive_deadlines.next()});
}

bool Endpoint::poll_transmit(Instant now, Transmit& out) {
  for (const std::uint32_t index : impl_->state.dirty_timers) {
    Peer& peer = impl_->state.peer({index});
    if (peer.paths.transition_due()) impl_->run_transitions(now, peer);
  }
  return impl_->connections.poll_transmit(now, out) || impl_->assembler.poll_transmit(now, out);
}

Result<wire::Encoded> Endpoint::encode(const Transmit& transmit, MutableByteSpan out,
                                       std::size_t tail_bytes_min) const {
  if (transmit.packet == nullptr) {
    const Status status = encode_and_tag(impl_->state.identity, transmit.handshake, out);
    if (!status.ok()) return status.error();
    return wire::Encoded{wire::kHandshakeBytes, {}};
  }
  auto encoded = wire::encode(*transmit.packet, out, tail_bytes_min);
  if (!encoded.ok()) return encoded;
  const wire::Header& header = transmit.packet->header;
  impl_->state.peer(transmit.route.peer)
      .session.sealer.seal(out.first(encoded.value().head_bytes), encoded.value().tail, header.path,
                           header.number, header.key_phase);
  return encoded;
}

std::size_t Endpoint::poll_completions(std::span<Completion> out) {
  return impl_->state.poll_completions(out);
}

bool Endpoint::poll_event(Event& out) {
  if (!impl_->state.poll_event(out)) return false;
  impl_->transfers.flush_notifications();
  return true;
}

const Counters& Endpoint::counters() const { return impl_->state.counters; }

Result<Endpoint::PathStatus> Endpoint::path_status(PeerId peer, std::uint8_t path) const {
  if (!impl_->state.has_peer(peer)) return Errc::kUnknownPeer;
  const PathTable& paths = impl_->state.peer(peer).paths;
  if (path >= paths.size()) return Errc::kBadPath;
  PathStatus status;
  status.config = paths.config(path);
  status.state = paths.state(path);
  status.weight = paths.weight(path);
  status.rtt = paths.smoothed_rtt(path);
  status.in_flight_bytes = paths.in_flight_bytes(path);
  status.packets_sent = paths.packets_sent(path);
  status.packets_lost = paths.packets_lost(path);
  return status;
}

Endpoint::Footprint Endpoint::footprint() const {
  const State& state = impl_->state;
  const EndpointOptions& options = state.options;
  Footprint print;
  print.endpoint = sizeof(Impl);
  print.flow = sizeof(Flow);
  print.path_out = PathTable::bytes_per_path() + sizeof(PathFlight);
  print.path_in = InPathPool::bytes_per_path();
  print.communicator =
      sizeof(Communicator) + 2 * sizeof(std::uint64_t) * (options.peers_max / 64 + 1);
  print.arena = state.memory_bytes() + impl_->transfers.memory_bytes() +
                impl_->incoming.memory_bytes() + impl_->connections.memory_bytes();
  return print;
}

}  // namespace zhinu::core

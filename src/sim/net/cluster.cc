#include "sim/net/cluster.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/prng.h"

namespace zhinu::sim {
namespace {

// Events of the cluster, beside those of the fabric.
enum ClusterEvent : std::uint32_t { kWake = 16, kResume = 17, kTimer = 18 };

// Streams of random numbers of one node.
enum Stream : std::uint64_t { kEntropyStream = 1, kMisbehaviourStream, kIncarnationStream, kKeys };

constexpr std::uint64_t kWorld = 7;
constexpr std::uint16_t kPathKeyFirst = 0xc000;  // where the dynamic UDP ports begin
constexpr std::size_t kCompletionBatch = 32;
// When completions that were held back are asked for again.
constexpr Duration kLatePoll = microseconds(10);
// A payload at least this long is copied once, from the user's memory to the packet.
constexpr std::size_t kGatherBytesMin = 64;

std::uint64_t stream_of(std::uint32_t node, Stream stream) {
  return std::uint64_t{node} << 8 | stream;
}

}  // namespace

struct Cluster::Node {
  Node(const ClusterOptions& options, std::uint32_t index)
      : entropy(options.seed, stream_of(index, kEntropyStream)),
        misbehaviour(options.misbehaviour, options.seed, stream_of(index, kMisbehaviourStream)),
        generations(options.fabric.nics, 0),
        peers(options.fabric.nodes) {}

  SeededEntropy entropy;
  SeededMisbehaviour misbehaviour;
  std::unique_ptr<core::Endpoint> endpoint;
  std::uint64_t starts = 0;
  std::vector<std::uint32_t> generations;  // of the NICs' addresses
  std::vector<core::PeerId> peers;         // by node
  std::vector<std::uint32_t> nodes_by_peer;

  Instant wake_at = Instant::never();  // of the wake-up that is queued
  std::uint64_t wake_sequence = 0;
  Instant last_wake;
  std::uint32_t wakes_at_instant = 0;

  bool touched = false;
  bool draining = false;
  Instant paused_until;  // not after now: runs
  PacketId waiting_head;
  PacketId waiting_tail;
  std::uint32_t waiting = 0;

  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

Cluster::Cluster(const ClusterOptions& options, Owner& owner)
    : options_(options),
      owner_(owner),
      fabric_(options.fabric, queue_),
      scratch_(wire::kPacketBytesMax + 1),
      now_(options.start) {
  ZHINU_ASSERT(!options_.endpoints.empty());
  for (std::uint32_t node = 0; node < options_.fabric.nodes; ++node)
    nodes_.push_back(std::make_unique<Node>(options_, node));
}

Cluster::~Cluster() = default;

void Cluster::start(std::uint32_t index) {
  Node& node = *nodes_[index];
  ZHINU_ASSERT(!node.endpoint);
  ++node.starts;
  core::Identity identity;
  identity.rank = index;
  identity.world = kWorld;
  identity.incarnation = mix64(options_.seed ^ stream_of(index, kIncarnationStream), node.starts);
  identity.seal = options_.seal;
  identity.job_key.fill(std::byte{0x5a});
  const core::EndpointOptions& endpoint = options_.endpoints[index % options_.endpoints.size()];
  node.endpoint =
      std::make_unique<core::Endpoint>(endpoint, identity, node.entropy, &node.misbehaviour);
  node.peers.assign(nodes(), core::PeerId::none());
  node.nodes_by_peer.clear();
  node.sent = 0;
  node.received = 0;
  hash_.add(static_cast<std::uint64_t>(now_.ns), index, node.starts);
}

void Cluster::stop(std::uint32_t index) {
  Node& node = *nodes_[index];
  ZHINU_ASSERT(node.endpoint && !node.draining);
  node.endpoint.reset();
  ++node.wake_sequence;
  node.wake_at = Instant::never();
  while (!node.waiting_head.is_none()) {
    const PacketId id = node.waiting_head;
    node.waiting_head = fabric_.pool()[id].next;
    fabric_.pool().release(id);
  }
  node.waiting = 0;
}

bool Cluster::started(std::uint32_t node) const { return nodes_[node]->endpoint != nullptr; }

void Cluster::pause(std::uint32_t index, Instant until) {
  Node& node = *nodes_[index];
  if (until <= now_ || until <= node.paused_until) return;
  node.paused_until = until;
  queue_.push(until, kResume, index, 0);
}

void Cluster::resume(std::uint32_t index) {
  Node& node = *nodes_[index];
  if (node.paused_until <= now_) return;
  node.paused_until = now_;
  queue_.push(now_, kResume, index, 0);
}

bool Cluster::paused(std::uint32_t node) const { return nodes_[node]->paused_until > now_; }

void Cluster::change_address(std::uint32_t node, std::uint8_t nic) {
  ++nodes_[node]->generations[nic];
}

void Cluster::stop_misbehaviour() {
  for (auto& node : nodes_) node->misbehaviour.set_rates({});
}

core::Endpoint& Cluster::endpoint(std::uint32_t node) {
  ZHINU_ASSERT(nodes_[node]->endpoint);
  return *nodes_[node]->endpoint;
}

core::PathConfig Cluster::path(const NicAddress& to, std::uint8_t nic, std::uint16_t key) const {
  core::PathConfig path;
  path.remote = encode_address(to);
  path.nic = nic;
  path.group = nic;
  path.key = key;
  path.packet_bytes_max = options_.packet_bytes_max;
  return path;
}

std::vector<core::PathConfig> Cluster::paths(std::uint32_t from, std::uint32_t to) const {
  std::vector<core::PathConfig> paths;
  Prng keys(options_.seed ^ (std::uint64_t{from} << 32), stream_of(to, kKeys));
  for (std::uint32_t i = 0; i < options_.paths_per_pair; ++i) {
    const auto nic = static_cast<std::uint8_t>(i % options_.fabric.nics);
    const auto key = static_cast<std::uint16_t>(kPathKeyFirst + keys.below(0x4000));
    paths.push_back(path({to, nic, nodes_[to]->generations[nic]}, nic, key));
  }
  return paths;
}

std::vector<core::PathConfig> Cluster::disjoint_paths(std::uint32_t from, std::uint32_t to,
                                                      std::uint32_t count) const {
  ZHINU_ASSERT(count <= options_.fabric.spines);
  std::vector<core::PathConfig> paths;
  std::uint16_t key = kPathKeyFirst;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto nic = static_cast<std::uint8_t>(i % options_.fabric.nics);
    const NicAddress remote{to, nic, nodes_[to]->generations[nic]};
    while (fabric_.spine_of({from, nic, 0}, remote, key) != i) ++key;
    paths.push_back(path(remote, nic, key));
    paths.back().group = static_cast<std::uint8_t>(i);
    ++key;
  }
  return paths;
}

core::PeerId Cluster::connect(std::uint32_t from, std::uint32_t to) {
  return connect(from, to, paths(from, to));
}

core::PeerId Cluster::connect(std::uint32_t from, std::uint32_t to,
                              std::span<const core::PathConfig> paths) {
  Node& node = *nodes_[from];
  const Result<core::PeerId> peer = endpoint(from).add_peer(now_, {.rank = to, .paths = paths});
  ZHINU_ASSERT(peer.ok());
  node.peers[to] = peer.value();
  if (node.nodes_by_peer.size() <= peer.value().value)
    node.nodes_by_peer.resize(peer.value().value + 1, kNoNode);
  node.nodes_by_peer[peer.value().value] = to;
  touch(from);
  return peer.value();
}

core::PeerId Cluster::peer(std::uint32_t from, std::uint32_t to) const {
  return nodes_[from]->peers[to];
}

std::uint32_t Cluster::node_of(std::uint32_t node, core::PeerId peer) const {
  const auto& map = nodes_[node]->nodes_by_peer;
  return peer.value < map.size() ? map[peer.value] : kNoNode;
}

void Cluster::touch(std::uint32_t index) {
  Node& node = *nodes_[index];
  if (node.touched) return;
  node.touched = true;
  touched_.push_back(index);
}

void Cluster::call_at(Instant at, std::uint64_t value) {
  queue_.push(at < now_ ? now_ : at, kTimer, 0, value);
}

bool Cluster::step() {
  if (!touched_.empty()) {
    drain_touched();
    return true;
  }
  if (queue_.empty()) return false;
  const Event event = queue_.pop();
  ZHINU_ASSERT(event.at >= now_);
  now_ = event.at;
  ++events_;
  dispatch(event);
  drain_touched();
  return true;
}

void Cluster::run_until(Instant end) {
  drain_touched();
  while (queue_.next_at() <= end) step();
  if (now_ < end) now_ = end;
}

std::uint64_t Cluster::sent_by(std::uint32_t node) const { return nodes_[node]->sent; }
std::uint64_t Cluster::received_by(std::uint32_t node) const { return nodes_[node]->received; }

void Cluster::dispatch(const Event& event) {
  switch (event.kind) {
    case static_cast<std::uint32_t>(FabricEvent::kHop):
      fabric_.hop(now_, PacketId{static_cast<std::uint32_t>(event.value)});
      return;
    case static_cast<std::uint32_t>(FabricEvent::kDeliver):
      deliver(event.entity, PacketId{static_cast<std::uint32_t>(event.value)});
      return;
    case kWake:
    case kResume:
      wake(event.entity, event.kind == kWake ? event.value : nodes_[event.entity]->wake_sequence);
      return;
    case kTimer:
      hash_.add(static_cast<std::uint64_t>(now_.ns), kTimer, event.value);
      owner_.on_timer(event.value);
      return;
    default: ZHINU_ASSERT(false);
  }
}

void Cluster::drain_touched() {
  // The list may grow while it is worked on.
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    nodes_[touched_[i]]->touched = false;
    drain(touched_[i]);
  }
  touched_.clear();
}

void Cluster::drain(std::uint32_t index) {
  Node& node = *nodes_[index];
  if (!node.endpoint || node.paused_until > now_) return;
  ZHINU_ASSERT(!node.draining);
  node.draining = true;
  std::uint32_t transmits = 0;
  for (;;) {
    // Events come first, so that who watches the packets knows a path's state.
    bool worked = poll_events(index);
    if (node.endpoint->poll_transmit(now_, transmit_)) {
      ++transmits;
      ZHINU_ASSERT(transmits < kTransmitsPerDrainMax);
      send(index);
      worked = true;
    } else {
      worked |= poll_completions(index);
    }
    if (!worked) break;
  }
  node.draining = false;
  schedule_wake(index);
}

bool Cluster::poll_events(std::uint32_t index) {
  core::Event event;
  bool any = false;
  while (nodes_[index]->endpoint->poll_event(event)) {
    any = true;
    hash_.add(static_cast<std::uint64_t>(now_.ns), index, static_cast<std::uint64_t>(event.kind),
              event.peer.value, static_cast<std::uint64_t>(event.code), event.path, event.immediate,
              event.bytes);
    owner_.on_event(index, event);
  }
  return any;
}

bool Cluster::poll_completions(std::uint32_t index) {
  std::array<core::Completion, kCompletionBatch> batch;
  const std::size_t count = nodes_[index]->endpoint->poll_completions(batch);
  for (std::size_t i = 0; i < count; ++i) {
    const core::Completion& done = batch[i];
    hash_.add(static_cast<std::uint64_t>(now_.ns), index, done.user,
              static_cast<std::uint64_t>(done.status), done.bytes, done.tag);
    owner_.on_completion(index, done);
  }
  return count > 0;
}

void Cluster::send(std::uint32_t index) {
  Node& node = *nodes_[index];
  owner_.on_transmit(index, transmit_);
  ++node.sent;
  ++datagrams_sent_;
  const std::uint8_t nic = transmit_.route.nic;
  ZHINU_ASSERT(nic < options_.fabric.nics);
  const NicAddress from{index, nic, node.generations[nic]};
  const NicAddress to = decode_address(transmit_.route.to);
  if (hook_ != nullptr) {
    send_hooked(index, from, to);
    return;
  }
  const auto encoded = node.endpoint->encode(transmit_, scratch_, kGatherBytesMin);
  ZHINU_ASSERT(encoded.ok());
  const ByteSpan head(scratch_.data(), encoded.value().head_bytes);
  fabric_.send(now_, from, to, transmit_.route.key, head, encoded.value().tail);
}

void Cluster::send_hooked(std::uint32_t index, const NicAddress& from, const NicAddress& to) {
  const auto encoded = nodes_[index]->endpoint->encode(transmit_, scratch_, SIZE_MAX);
  ZHINU_ASSERT(encoded.ok());
  const MutableByteSpan bytes(scratch_.data(), encoded.value().head_bytes);
  for (auto copies = hook_->on_datagram(index, transmit_, bytes); copies > 0; --copies)
    fabric_.send(now_, from, to, transmit_.route.key, bytes, {});
}

void Cluster::deliver(std::uint32_t index, PacketId id) {
  Node& node = *nodes_[index];
  Datagram& packet = fabric_.pool()[id];
  const bool address_is_current = packet.to.generation == node.generations[packet.to.nic];
  if (!node.endpoint || !address_is_current ||
      (node.paused_until > now_ && node.waiting == kNicQueueMax)) {
    ++undelivered_;
    fabric_.pool().release(id);
    return;
  }
  if (node.paused_until > now_) {
    packet.next = PacketId::none();
    if (node.waiting_head.is_none()) {
      node.waiting_head = id;
    } else {
      fabric_.pool()[node.waiting_tail].next = id;
    }
    node.waiting_tail = id;
    ++node.waiting;
    return;
  }
  handle(node, id);
  touch(index);
}

void Cluster::handle(Node& node, PacketId id) {
  const Datagram& packet = fabric_.pool()[id];
  ++node.received;
  core::Arrival arrival;
  arrival.from = encode_address(packet.from);
  arrival.nic = packet.to.nic;
  arrival.ecn_marked = packet.ecn_marked;
  const Status status = node.endpoint->handle_datagram(now_, arrival, packet.span());
  // Length, path, packet number and connection of a data packet.
  std::array<std::uint64_t, 2> begin{};
  std::memcpy(begin.data(), packet.bytes, std::min<std::size_t>(packet.size, sizeof begin));
  hash_.add(static_cast<std::uint64_t>(now_.ns), std::uint64_t{packet.to.node} << 32 | packet.size,
            begin[0], begin[1], static_cast<std::uint64_t>(status.error()));
  fabric_.pool().release(id);
}

void Cluster::wake(std::uint32_t index, std::uint64_t sequence) {
  Node& node = *nodes_[index];
  if (!node.endpoint || sequence != node.wake_sequence || node.paused_until > now_) return;
  node.wake_at = Instant::never();
  while (!node.waiting_head.is_none()) {
    const PacketId id = node.waiting_head;
    node.waiting_head = fabric_.pool()[id].next;
    --node.waiting;
    handle(node, id);
  }
  if (node.endpoint->poll_timeout() <= now_) {
    node.wakes_at_instant = node.last_wake == now_ ? node.wakes_at_instant + 1 : 0;
    ZHINU_ASSERT(node.wakes_at_instant < kWakesPerInstantMax);
    node.last_wake = now_;
    hash_.add(static_cast<std::uint64_t>(now_.ns), kWake, index);
    node.endpoint->handle_timeout(now_);
  }
  touch(index);
}

void Cluster::schedule_wake(std::uint32_t index) {
  Node& node = *nodes_[index];
  Instant at = node.endpoint->poll_timeout();
  if (node.misbehaviour.take_completions_held()) at = std::min(at, now_ + kLatePoll);
  if (at < now_) at = now_;
  // A wake-up that comes too early costs one look at the time-out; one that comes
  // later than it should is replaced.
  if (at == Instant::never() || node.wake_at <= at) return;
  node.wake_at = at;
  ++node.wake_sequence;
  queue_.push(at, kWake, index, node.wake_sequence);
}

}  // namespace zhinu::sim

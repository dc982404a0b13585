#include "sim/net/pair.h"

#include "base/check.h"

namespace zhinu::sim {
namespace {

constexpr core::CommunicatorId kCommunicator{1};

ClusterOptions cluster_options(const PairOptions& options) {
  ClusterOptions cluster;
  cluster.fabric.nodes = 2;
  cluster.fabric.nics = options.nics;
  cluster.fabric.nodes_per_pod = 1;
  cluster.fabric.spines = options.paths;
  // The latency lies on the host's own link alone; rate and queue on all.
  cluster.fabric.host_link = {.rate_bits_per_s = options.rate_bits_per_s,
                              .delay = {},
                              .queue_bytes = options.queue_bytes,
                              .ecn_bytes = options.ecn_bytes};
  cluster.fabric.spine_link = cluster.fabric.host_link;
  cluster.fabric.seed = options.seed;
  cluster.endpoints = {options.endpoints.begin(), options.endpoints.end()};
  cluster.seal = options.seal;
  cluster.paths_per_pair = options.paths;
  cluster.packet_bytes_max = options.packet_bytes_max;
  cluster.misbehaviour = options.misbehaviour;
  cluster.seed = options.seed;
  return cluster;
}

}  // namespace

Pair::Pair(const PairOptions& options)
    : options_(options), cluster_(cluster_options(options), *this) {
  set_latency(options.latency);
  cluster_.set_hook(this);
  for (std::uint32_t side = 0; side < 2; ++side) start(side);
}

void Pair::start(std::uint32_t side) {
  cluster_.start(side);
  const Status created = endpoint(side).create_communicator(kCommunicator);
  ZHINU_ASSERT(created.ok());
}

void Pair::start_again(std::uint32_t side) {
  completions_[side].clear();
  events_[side].clear();
  start(side);
  cluster_.connect(side, 1 - side, cluster_.disjoint_paths(side, 1 - side, options_.paths));
}

bool Pair::connect(Duration limit) {
  for (std::uint32_t side = 0; side < 2; ++side)
    cluster_.connect(side, 1 - side, cluster_.disjoint_paths(side, 1 - side, options_.paths));
  return run_until(
      [this] { return endpoint(0).peer_is_up(peer(0)) && endpoint(1).peer_is_up(peer(1)); }, limit);
}

core::Operation Pair::send(std::uint32_t side, core::SendArgs args) {
  if (args.peer.is_none()) args.peer = peer(side);
  if (args.communicator.is_none()) args.communicator = kCommunicator;
  const auto posted = endpoint(side).send(now(), args);
  ZHINU_ASSERT(posted.ok());
  touch(side);
  return posted.value();
}

core::Operation Pair::receive(std::uint32_t side, core::ReceiveArgs args) {
  // No peer means any source here, so it is left as it is.
  if (args.communicator.is_none()) args.communicator = kCommunicator;
  const auto posted = endpoint(side).receive(now(), args);
  ZHINU_ASSERT(posted.ok());
  touch(side);
  return posted.value();
}

core::Operation Pair::write(std::uint32_t side, core::WriteArgs args) {
  if (args.peer.is_none()) args.peer = peer(side);
  if (args.communicator.is_none()) args.communicator = kCommunicator;
  const auto posted = endpoint(side).write(now(), args);
  ZHINU_ASSERT(posted.ok());
  touch(side);
  return posted.value();
}

core::Operation Pair::read(std::uint32_t side, core::ReadArgs args) {
  if (args.peer.is_none()) args.peer = peer(side);
  if (args.communicator.is_none()) args.communicator = kCommunicator;
  const auto posted = endpoint(side).read(now(), args);
  ZHINU_ASSERT(posted.ok());
  touch(side);
  return posted.value();
}

std::optional<core::Completion> Pair::result(std::uint32_t side, core::Operation operation,
                                             Duration limit) {
  run_until([&] { return completion(side, operation).has_value(); }, limit);
  return completion(side, operation);
}

std::optional<core::Completion> Pair::completion(std::uint32_t side,
                                                 core::Operation operation) const {
  for (const core::Completion& done : completions_[side])
    if (done.operation == operation) return done;
  return std::nullopt;
}

std::uint32_t Pair::count(std::uint32_t side, core::EventKind kind) const {
  std::uint32_t count = 0;
  for (const core::Event& event : events_[side])
    if (event.kind == kind) ++count;
  return count;
}

void Pair::set_faults(std::uint32_t side, const LinkFaults& faults) {
  for (std::uint32_t nic = 0; nic < options_.nics; ++nic)
    cluster_.fabric().set_faults(now(), cluster_.fabric().host_up(side, nic), faults);
}

void Pair::set_path_faults(std::uint32_t side, std::uint8_t path, const LinkFaults& faults) {
  Fabric& fabric = cluster_.fabric();
  const std::uint32_t leaf = fabric.leaf_of(side, path % options_.nics);
  fabric.set_faults(now(), fabric.leaf_up(leaf, path), faults);
}

void Pair::set_latency(Duration latency) {
  Fabric& fabric = cluster_.fabric();
  for (std::uint32_t side = 0; side < 2; ++side)
    for (std::uint32_t nic = 0; nic < options_.nics; ++nic)
      fabric.link(fabric.host_up(side, nic)).set_delay(latency);
}

void Pair::on_completion(std::uint32_t node, const core::Completion& completion) {
  completions_[node].push_back(completion);
}

void Pair::on_event(std::uint32_t node, const core::Event& event) {
  events_[node].push_back(event);
}

std::uint32_t Pair::on_datagram(std::uint32_t node, const core::Transmit& transmit,
                                MutableByteSpan bytes) {
  const std::uint64_t index = sent_[node]++;
  if (drops_[node] > 0) {
    --drops_[node];
    return 0;
  }
  return hook_ ? hook_({node, index, transmit, bytes}) : 1;
}

}  // namespace zhinu::sim

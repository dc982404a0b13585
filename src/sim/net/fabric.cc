#include "sim/net/fabric.h"

#include <cstring>

#include "base/check.h"
#include "base/prng.h"

namespace zhinu::sim {

Fabric::Fabric(const FabricOptions& options, EventQueue& queue) : options_(options), queue_(queue) {
  ZHINU_ASSERT(options_.nodes >= 1 && options_.nodes <= kNodesMax);
  ZHINU_ASSERT(options_.nics >= 1 && options_.nodes_per_pod >= 1 && options_.spines >= 1);
  const std::uint32_t pods = (options_.nodes + options_.nodes_per_pod - 1) / options_.nodes_per_pod;
  leaves_ = pods * options_.nics;
  const std::uint32_t nics = options_.nodes * options_.nics;
  const std::uint32_t host_links = 2 * nics;
  const std::uint32_t spine_links = 2 * leaves_ * options_.spines;
  links_.reserve(host_links + spine_links);
  LinkOptions up = options_.host_link;
  if (options_.nic_queue_bytes > 0) {
    up.queue_bytes = options_.nic_queue_bytes;
    up.ecn_bytes = options_.nic_queue_bytes;
  }
  for (std::uint32_t i = 0; i < host_links; ++i)
    links_.emplace_back(i < nics ? up : options_.host_link, options_.seed, i);
  for (std::uint32_t i = 0; i < spine_links; ++i)
    links_.emplace_back(options_.spine_link, options_.seed, host_links + i);
  blocks_.assign(std::size_t{options_.nodes} * options_.nodes, 0);
}

std::uint32_t Fabric::host_up(std::uint32_t node, std::uint32_t nic) const {
  ZHINU_ASSERT(node < options_.nodes && nic < options_.nics);
  return node * options_.nics + nic;
}

std::uint32_t Fabric::host_down(std::uint32_t node, std::uint32_t nic) const {
  return options_.nodes * options_.nics + host_up(node, nic);
}

std::uint32_t Fabric::leaf_up(std::uint32_t leaf, std::uint32_t spine) const {
  ZHINU_ASSERT(leaf < leaves_ && spine < options_.spines);
  return 2 * options_.nodes * options_.nics + leaf * options_.spines + spine;
}

std::uint32_t Fabric::leaf_down(std::uint32_t leaf, std::uint32_t spine) const {
  return leaves_ * options_.spines + leaf_up(leaf, spine);
}

std::uint32_t Fabric::leaf_of(std::uint32_t node, std::uint32_t nic) const {
  return node / options_.nodes_per_pod * options_.nics + nic;
}

std::uint32_t Fabric::spine_of(const NicAddress& from, const NicAddress& to,
                               std::uint16_t key) const {
  const std::uint64_t source = std::uint64_t{from.node} << 8 | from.nic;
  const std::uint64_t target = std::uint64_t{to.node} << 8 | to.nic;
  const std::uint64_t hash = mix64(options_.seed, source << 40 | target << 16 | key);
  return static_cast<std::uint32_t>(hash % options_.spines);
}

void Fabric::route(Datagram& packet, std::uint16_t key) const {
  const std::uint32_t source = leaf_of(packet.from.node, packet.from.nic);
  const std::uint32_t target = leaf_of(packet.to.node, packet.to.nic);
  std::uint8_t hops = 0;
  packet.route[hops++] = host_up(packet.from.node, packet.from.nic);
  if (source != target) {
    const std::uint32_t spine = spine_of(packet.from, packet.to, key);
    packet.route[hops++] = leaf_up(source, spine);
    packet.route[hops++] = leaf_down(target, spine);
  }
  packet.route[hops++] = host_down(packet.to.node, packet.to.nic);
  packet.hops = hops;
}

void Fabric::send(Instant now, const NicAddress& from, const NicAddress& to, std::uint16_t key,
                  ByteSpan head, ByteSpan tail) {
  // A datagram to an address of no NIC leaves the host and is never seen again.
  if (to.node >= options_.nodes || to.nic >= options_.nics ||
      blocks_[std::size_t{from.node} * options_.nodes + to.node] > 0) {
    ++blocked_packets_;
    return;
  }
  const PacketId id = pool_.acquire(head.size() + tail.size());
  Datagram& packet = pool_[id];
  std::memcpy(packet.bytes, head.data(), head.size());
  if (!tail.empty()) std::memcpy(packet.bytes + head.size(), tail.data(), tail.size());
  packet.from = from;
  packet.to = to;
  route(packet, key);
  hop(now, id);
}

void Fabric::hop(Instant now, PacketId id) {
  Datagram& packet = pool_[id];
  Link& link = links_[packet.route[packet.hop]];
  const Link::Verdict verdict = link.offer(now, packet);
  if (verdict.fate == Link::Fate::kDropped) {
    pool_.release(id);
  } else if (verdict.fate == Link::Fate::kStuck) {
    link.hold(pool_, id);
  } else {
    if (verdict.duplicate) duplicate(now, id, verdict.arrives_at);
    advance(packet, id, verdict.arrives_at);
  }
}

void Fabric::advance(Datagram& packet, PacketId id, Instant arrives_at) {
  ++packet.hop;
  if (packet.hop < packet.hops) {
    queue_.push(arrives_at, static_cast<std::uint32_t>(FabricEvent::kHop), packet.route[packet.hop],
                id.value);
  } else {
    queue_.push(arrives_at, static_cast<std::uint32_t>(FabricEvent::kDeliver), packet.to.node,
                id.value);
  }
}

void Fabric::duplicate(Instant now, PacketId id, Instant arrives_at) {
  const PacketId copy_id = pool_.acquire(pool_[id].size);
  Datagram& copy = pool_[copy_id];
  const Datagram& packet = pool_[id];
  std::memcpy(copy.bytes, packet.bytes, packet.size);
  copy.from = packet.from;
  copy.to = packet.to;
  copy.route = packet.route;
  copy.hop = packet.hop;
  copy.hops = packet.hops;
  copy.ecn_marked = packet.ecn_marked;
  const Link::Verdict verdict = links_[copy.route[copy.hop]].forward(now, copy);
  if (verdict.fate != Link::Fate::kForwarded) {
    pool_.release(copy_id);
    return;
  }
  advance(copy, copy_id, verdict.arrives_at < arrives_at ? arrives_at : verdict.arrives_at);
}

std::string Fabric::link_name(std::uint32_t link) const {
  ZHINU_ASSERT(link < links_.size());
  const std::uint32_t hosts = options_.nodes * options_.nics;
  if (link < 2 * hosts) {
    const std::uint32_t nic = link % hosts;
    return "n" + std::to_string(nic / options_.nics) + ":" + std::to_string(nic % options_.nics) +
           (link < hosts ? ">" : "<");
  }
  const std::uint32_t ups = leaves_ * options_.spines;
  const std::uint32_t port = (link - 2 * hosts) % ups;
  return "l" + std::to_string(port / options_.spines) + ":s" +
         std::to_string(port % options_.spines) + (link - 2 * hosts < ups ? ">" : "<");
}

std::optional<std::uint32_t> Fabric::find_link(std::string_view name) const {
  for (std::uint32_t link = 0; link < link_count(); ++link)
    if (link_name(link) == name) return link;
  return std::nullopt;
}

void Fabric::set_faults(Instant now, std::uint32_t link, const LinkFaults& faults) {
  const bool released = links_[link].faults().clogged && !faults.clogged;
  links_[link].set_faults(faults);
  if (!released) return;
  for (PacketId id = links_[link].take_held(pool_); !id.is_none();
       id = links_[link].take_held(pool_)) {
    hop(now, id);
  }
}

void Fabric::block(std::uint32_t from, std::uint32_t to) {
  std::uint8_t& count = blocks_[std::size_t{from} * options_.nodes + to];
  ZHINU_ASSERT(count < 255);
  ++count;
}

void Fabric::unblock(std::uint32_t from, std::uint32_t to) {
  std::uint8_t& count = blocks_[std::size_t{from} * options_.nodes + to];
  ZHINU_ASSERT(count > 0);
  --count;
}

LinkCounters Fabric::total() const {
  LinkCounters sum;
  for (const Link& link : links_) {
    const LinkCounters& one = link.counters();
    sum.forwarded += one.forwarded;
    sum.bytes += one.bytes;
    sum.marked += one.marked;
    sum.queue_full += one.queue_full;
    sum.cut += one.cut;
    sum.lost += one.lost;
    sum.duplicated += one.duplicated;
    sum.corrupted += one.corrupted;
    sum.reordered += one.reordered;
  }
  return sum;
}

}  // namespace zhinu::sim

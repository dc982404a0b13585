// The simulated fabric: NICs, leaves, spines and the links between them.
//
// Node n has NIC 0 .. nics - 1; NIC r of all nodes of a pod hangs on leaf (pod, r).
// Each leaf has one link up to and one down from each spine. A packet between NICs of
// one leaf takes two links; any other takes four, over the spine that a hash of
// addresses and path key picks, like ECMP: paths share up-links by chance, and always
// the destination's port. Faults are per directed link, or per ordered pair of nodes.
// Thread rule: one owner at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/net/event_queue.h"
#include "sim/net/link.h"
#include "sim/net/packet_pool.h"

namespace zhinu::sim {

struct FabricOptions {
  std::uint32_t nodes = 2;
  std::uint32_t nics = 1;
  std::uint32_t nodes_per_pod = 1;
  std::uint32_t spines = 4;
  LinkOptions host_link;
  LinkOptions spine_link;
  // What a host queues before its own NIC, where nothing is marked; 0: as host_link says.
  std::uint64_t nic_queue_bytes = 0;
  std::uint64_t seed = 1;  // of the faults and of the hash
};

inline constexpr std::uint32_t kNodesMax = 64;

// The events that Fabric pushes; other owners of the queue use other numbers.
enum class FabricEvent : std::uint32_t {
  kHop = 1,      // entity: link, value: packet
  kDeliver = 2,  // entity: node, value: packet
};

class Fabric {
 public:
  // `queue` outlives the fabric.
  Fabric(const FabricOptions& options, EventQueue& queue);

  // Sends a datagram of `head` then `tail` from a NIC to a NIC. The bytes are copied.
  void send(Instant now, const NicAddress& from, const NicAddress& to, std::uint16_t key,
            ByteSpan head, ByteSpan tail);
  // Moves a packet over its next link: for kHop events.
  void hop(Instant now, PacketId id);

  PacketPool& pool() { return pool_; }
  const FabricOptions& options() const { return options_; }

  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  std::uint32_t host_up(std::uint32_t node, std::uint32_t nic) const;
  std::uint32_t host_down(std::uint32_t node, std::uint32_t nic) const;
  std::uint32_t leaf_up(std::uint32_t leaf, std::uint32_t spine) const;
  std::uint32_t leaf_down(std::uint32_t leaf, std::uint32_t spine) const;
  std::uint32_t leaf_of(std::uint32_t node, std::uint32_t nic) const;
  // The spine that carries a path; only for NICs of different leaves.
  std::uint32_t spine_of(const NicAddress& from, const NicAddress& to, std::uint16_t key) const;

  // "n3:0>" is up from node 3, NIC 0; "n3:0<" down to it; "l2:s1>" up, "l2:s1<" down.
  std::string link_name(std::uint32_t link) const;
  std::optional<std::uint32_t> find_link(std::string_view name) const;

  Link& link(std::uint32_t link) { return links_[link]; }
  const Link& link(std::uint32_t link) const { return links_[link]; }
  // Replaces the faults of a link; what a clog held back moves on when it ends.
  void set_faults(Instant now, std::uint32_t link, const LinkFaults& faults);
  // While more blocks than unblocks were given, packets of `from` never reach `to`.
  void block(std::uint32_t from, std::uint32_t to);
  void unblock(std::uint32_t from, std::uint32_t to);

  LinkCounters total() const;
  std::uint64_t blocked_packets() const { return blocked_packets_; }

 private:
  void route(Datagram& packet, std::uint16_t key) const;
  void advance(Datagram& packet, PacketId id, Instant arrives_at);
  void duplicate(Instant now, PacketId id, Instant arrives_at);

  FabricOptions options_;
  EventQueue& queue_;
  PacketPool pool_;
  std::uint32_t leaves_ = 0;
  std::vector<Link> links_;
  std::vector<std::uint8_t> blocks_;  // [from * nodes + to]
  std::uint64_t blocked_packets_ = 0;
};

}  // namespace zhinu::sim

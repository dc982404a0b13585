// One run of the check, written out: the fabric, the options, every message and fault.
//
// Generated from a seed, written to and read from a file, and cut down by the
// shrinker; each entry stands for itself, so that others can be left out. All times
// count from the start of the run. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/endpoint.h"
#include "sim/net/fabric.h"
#include "sim/net/node_faults.h"

namespace zhinu::sim::check {

inline constexpr Duration kNever{-1};
constexpr bool happens(Duration at) { return at.ns >= 0; }

struct ScenarioFabric {
  std::uint32_t nodes = 2;
  std::uint32_t nics = 1;
  std::uint32_t nodes_per_pod = 1;
  std::uint32_t spines = 4;
  std::uint32_t paths = 1;  // per ordered pair of nodes
  std::uint32_t packet_bytes = 8'972;
  LinkOptions host_link;
  LinkOptions spine_link;
};

// A send and the receive that is meant for it.
struct Message {
  std::uint32_t id = 0;  // names the contents; stays when other messages are left out
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t communicator = 0;
  TrafficClass traffic_class = TrafficClass::kGradient;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t receive_bytes = 0;
  bool any_source = false;
  std::uint32_t send_digest = 0;
  std::uint32_t receive_digest = 0;
  Duration send_at{};
  Duration receive_at{};          // kNever: posted only when all else has ended
  Duration send_cancel = kNever;  // after the post
  Duration receive_cancel = kNever;
  Duration send_deadline = kNever;  // after the post
  Duration receive_deadline = kNever;
};

// Memory that a node lets others reach. A write-only region takes writes, each at an
// offset of its own or one after the other; any other is full of known bytes.
struct Region {
  std::uint32_t id = 0;
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
  bool writable = false;  // else readable
  Duration revoke_at = kNever;
};

// A write into, or a read from, a region of another node.
struct Access {
  std::uint32_t id = 0;
  std::uint32_t from = 0;
  std::uint32_t region = 0;  // id
  std::uint32_t communicator = 0;
  TrafficClass traffic_class = TrafficClass::kWeights;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  bool write = false;  // else read
  bool notify = false;
  bool ordered = false;
  Duration at{};
  Duration cancel = kNever;
  Duration deadline = kNever;
};

enum class ActionKind : std::uint8_t {
  kAbort,    // `node` aborts `communicator`
  kClose,    // `node` closes its connection with `peer`
  kRestart,  // `node` ends and comes back after `duration`
  kAddress,  // NIC `nic` of `node` gets another address
  kPause,    // `node` does nothing for `duration`
};

struct Action {
  ActionKind kind = ActionKind::kPause;
  Duration at{};
  Duration duration{};
  std::uint32_t node = 0;
  std::uint32_t peer = 0;
  std::uint32_t communicator = 0;
  std::uint32_t nic = 0;
};

// A link that is not well for a while.
struct LinkFault {
  std::string link{};  // Fabric::link_name
  Duration at{};
  Duration duration{};
  LinkFaults faults{};
};

// Nodes of the set do not reach the others, nor, unless `one_way`, the others them.
struct Partition {
  Duration at{};
  Duration duration{};
  std::uint64_t nodes = 0;  // bit n: node n
  bool one_way = false;
};

struct Scenario {
  std::uint64_t seed = 1;
  std::string invariant;  // that a shrunk scenario breaks; empty else
  ScenarioFabric fabric;
  core::SealMode seal = core::SealMode::kCrc32c;
  std::vector<core::EndpointOptions> endpoints{core::EndpointOptions{}};  // node n: n % size
  MisbehaviourRates misbehaviour;
  Duration heal_at = milliseconds(100);  // faults and misbehaviour end, at the latest
  std::uint32_t communicators = 1;       // ids 0 .. communicators - 1, on every node
  std::vector<Message> messages;
  std::vector<Region> regions;
  std::vector<Access> accesses;
  std::vector<Action> actions;
  std::vector<LinkFault> link_faults;
  std::vector<Partition> partitions;
};

}  // namespace zhinu::sim::check

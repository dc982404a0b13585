#include "sim/check/scenario_valid.h"

#include <algorithm>

namespace zhinu::sim::check {
namespace {

constexpr std::uint32_t kSmallMax = 64;  // NICs, paths, spines
constexpr std::uint32_t kCommunicatorsMax = 1'024;
constexpr std::uint32_t kPacketBytesMin = 1'200;
constexpr std::uint32_t kPacketBytesMax = 9'216;
constexpr std::uint64_t kContentBytesMax = 1ULL << 32;

// Collects the first thing that is out of its range.
class Ranges {
 public:
  void check(const char* what, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    if (value < low || value > high) fail(what, value, low, high);
  }
  bool ok = true;
  ScenarioError error;

 private:
  void fail(const char* what, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    if (!ok) return;
    ok = false;
    error = {0, std::string(what) + " from " + std::to_string(low) + " to " + std::to_string(high),
             std::to_string(value)};
  }
};

void check_fabric(Ranges& ranges, const ScenarioFabric& fabric) {
  ranges.check("fabric nodes", fabric.nodes, 2, kNodesMax);
  ranges.check("fabric nics", fabric.nics, 1, kSmallMax);
  ranges.check("fabric nodes_per_pod", fabric.nodes_per_pod, 1, kNodesMax);
  ranges.check("fabric spines", fabric.spines, 1, kSmallMax);
  ranges.check("fabric paths", fabric.paths, 1, kSmallMax);
  ranges.check("fabric packet bytes", fabric.packet_bytes, kPacketBytesMin, kPacketBytesMax);
}

void check_messages(Ranges& ranges, const Scenario& scenario) {
  const std::uint64_t last_node = scenario.fabric.nodes - 1;
  for (const Message& message : scenario.messages) {
    ranges.check("message from", message.from, 0, last_node);
    ranges.check("message to", message.to, 0, last_node);
    if (message.from == message.to) ranges.check("message to itself", 1, 0, 0);
    ranges.check("message communicator", message.communicator, 0, scenario.communicators - 1);
    ranges.check("message class", static_cast<std::uint64_t>(message.traffic_class), 1, 4);
    ranges.check("message bytes", message.bytes, 0, kContentBytesMax);
    ranges.check("message receive bytes", message.receive_bytes, 0, kContentBytesMax);
  }
}

void check_accesses(Ranges& ranges, const Scenario& scenario) {
  for (const Region& region : scenario.regions) {
    ranges.check("region node", region.node, 0, scenario.fabric.nodes - 1);
    ranges.check("region bytes", region.bytes, 0, kContentBytesMax);
  }
  for (const Access& access : scenario.accesses) {
    const auto region = std::find_if(scenario.regions.begin(), scenario.regions.end(),
                                     [&](const Region& r) { return r.id == access.region; });
    if (region == scenario.regions.end()) {
      ranges.check("access to a region that is missing", 1, 0, 0);
      continue;
    }
    ranges.check("access from", access.from, 0, scenario.fabric.nodes - 1);
    if (access.from == region->node) ranges.check("access to its own node", 1, 0, 0);
    ranges.check("access communicator", access.communicator, 0, scenario.communicators - 1);
    ranges.check("access class", static_cast<std::uint64_t>(access.traffic_class), 1, 4);
    ranges.check("access offset", access.offset, 0, region->bytes);
    ranges.check("access bytes", access.bytes, 0,
                 region->bytes - std::min(access.offset, region->bytes));
    ranges.check("access write, as the region", access.write ? 1 : 0, region->writable ? 1 : 0,
                 region->writable ? 1 : 0);
  }
}

void check_actions(Ranges& ranges, const Scenario& scenario) {
  for (const Action& action : scenario.actions) {
    ranges.check("action node", action.node, 0, scenario.fabric.nodes - 1);
    ranges.check("action peer", action.peer, 0, scenario.fabric.nodes - 1);
    ranges.check("action communicator", action.communicator, 0, scenario.communicators - 1);
    ranges.check("action nic", action.nic, 0, scenario.fabric.nics - 1);
  }
}

}  // namespace

bool check_valid(const Scenario& scenario, ScenarioError& error) {
  Ranges ranges;
  check_fabric(ranges, scenario.fabric);
  ranges.check("communicators", scenario.communicators, 1, kCommunicatorsMax);
  ranges.check("endpoints", scenario.endpoints.size(), 1, kNodesMax);
  if (ranges.ok) {
    check_messages(ranges, scenario);
    check_accesses(ranges, scenario);
    check_actions(ranges, scenario);
  }
  if (!ranges.ok) error = ranges.error;
  return ranges.ok;
}

}  // namespace zhinu::sim::check

// Switches the faults of links and partitions on and off, and counts them by kind.
//
// Faults of one link may overlap: what is in force is the worst of each. Thread rule:
// one owner.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/check/scenario.h"
#include "sim/net/cluster.h"

namespace zhinu::sim::check {

enum class FaultKind : std::uint8_t {
  kLoss,
  kDuplicate,
  kCorrupt,
  kReorder,
  kDelay,
  kRate,
  kClog,
  kCut,
  kPartition,
  kPause,
  kAddress,
  kRestart,
  kClose,
  kAbort,
};
inline constexpr std::size_t kFaultKinds = 14;
inline constexpr std::array<std::string_view, kFaultKinds> kFaultNames = {
    "loss", "duplicate", "corrupt", "reorder", "delay",   "rate",  "clog",
    "cut",  "partition", "pause",   "address", "restart", "close", "abort"};

using FaultCounts = std::array<std::uint64_t, kFaultKinds>;

class Injector {
 public:
  // Both outlive the injector. Links that the fabric does not have are left out.
  Injector(const Scenario& scenario, Cluster& cluster);

  void start_link_fault(std::uint32_t index);
  void end_link_fault(std::uint32_t index);
  void start_partition(std::uint32_t index);
  void end_partition(std::uint32_t index);
  // Ends all of them; what would start later does not.
  void heal();

  void count(FaultKind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  const FaultCounts& counts() const { return counts_; }

 private:
  void apply(std::uint32_t link);
  void count_kinds(const LinkFaults& faults);
  void set_blocks(const Partition& partition, bool on);

  const Scenario& scenario_;
  Cluster& cluster_;
  std::vector<std::uint32_t> links_;  // by fault
  std::vector<bool> link_active_;
  std::vector<bool> partition_active_;
  bool healed_ = false;
  FaultCounts counts_{};
};

}  // namespace zhinu::sim::check

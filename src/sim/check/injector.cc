#include "sim/check/injector.h"

#include <algorithm>

namespace zhinu::sim::check {
namespace {

constexpr std::uint32_t kNoLink = 0xffff'ffffU;

// Makes `sum` at least as bad as `fault` in each respect.
void worsen(LinkFaults& sum, const LinkFaults& fault) {
  sum.loss_ppm = std::max(sum.loss_ppm, fault.loss_ppm);
  sum.duplicate_ppm = std::max(sum.duplicate_ppm, fault.duplicate_ppm);
  sum.corrupt_ppm = std::max(sum.corrupt_ppm, fault.corrupt_ppm);
  sum.reorder_ppm = std::max(sum.reorder_ppm, fault.reorder_ppm);
  sum.reorder_delay = std::max(sum.reorder_delay, fault.reorder_delay);
  sum.extra_delay = std::max(sum.extra_delay, fault.extra_delay);
  sum.rate_per_mille = std::min(sum.rate_per_mille, fault.rate_per_mille);
  sum.clogged |= fault.clogged;
  sum.cut |= fault.cut;
}

}  // namespace

Injector::Injector(const Scenario& scenario, Cluster& cluster)
    : scenario_(scenario),
      cluster_(cluster),
      link_active_(scenario.link_faults.size(), false),
      partition_active_(scenario.partitions.size(), false) {
  for (const LinkFault& fault : scenario.link_faults)
    links_.push_back(cluster.fabric().find_link(fault.link).value_or(kNoLink));
}

void Injector::start_link_fault(std::uint32_t index) {
  if (healed_ || links_[index] == kNoLink) return;
  link_active_[index] = true;
  count_kinds(scenario_.link_faults[index].faults);
  apply(links_[index]);
}

void Injector::end_link_fault(std::uint32_t index) {
  if (!link_active_[index]) return;
  link_active_[index] = false;
  apply(links_[index]);
}

void Injector::start_partition(std::uint32_t index) {
  if (healed_) return;
  partition_active_[index] = true;
  count(FaultKind::kPartition);
  set_blocks(scenario_.partitions[index], true);
}

void Injector::end_partition(std::uint32_t index) {
  if (!partition_active_[index]) return;
  partition_active_[index] = false;
  set_blocks(scenario_.partitions[index], false);
}

void Injector::heal() {
  for (std::uint32_t i = 0; i < link_active_.size(); ++i) end_link_fault(i);
  for (std::uint32_t i = 0; i < partition_active_.size(); ++i) end_partition(i);
  healed_ = true;
}

void Injector::apply(std::uint32_t link) {
  LinkFaults sum;
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (link_active_[i] && links_[i] == link) worsen(sum, scenario_.link_faults[i].faults);
  cluster_.fabric().set_faults(cluster_.now(), link, sum);
}

void Injector::count_kinds(const LinkFaults& faults) {
  if (faults.loss_ppm > 0) count(FaultKind::kLoss);
  if (faults.duplicate_ppm > 0) count(FaultKind::kDuplicate);
  if (faults.corrupt_ppm > 0) count(FaultKind::kCorrupt);
  if (faults.reorder_ppm > 0) count(FaultKind::kReorder);
  if (faults.extra_delay.ns > 0) count(FaultKind::kDelay);
  if (faults.rate_per_mille < 1'000) count(FaultKind::kRate);
  if (faults.clogged) count(FaultKind::kClog);
  if (faults.cut) count(FaultKind::kCut);
}

void Injector::set_blocks(const Partition& partition, bool on) {
  const std::uint32_t nodes = scenario_.fabric.nodes;
  const auto inside = [&](std::uint32_t node) { return (partition.nodes >> node & 1) != 0; };
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      const bool blocked =
          (inside(from) && !inside(to)) || (!partition.one_way && !inside(from) && inside(to));
      if (!blocked) continue;
      if (on) {
        cluster_.fabric().block(from, to);
      } else {
        cluster_.fabric().unblock(from, to);
      }
    }
  }
}

}  // namespace zhinu::sim::check

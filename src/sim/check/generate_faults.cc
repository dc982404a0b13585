#include <algorithm>
#include <vector>

#include "sim/check/generate_parts.h"
#include "sim/net/event_queue.h"

namespace zhinu::sim::check {
namespace {

constexpr std::uint32_t kPercent = 10'000;  // in parts per million

// Names of all links of the scenario's fabric.
std::vector<std::string> link_names(const Scenario& scenario) {
  FabricOptions options;
  options.nodes = scenario.fabric.nodes;
  options.nics = scenario.fabric.nics;
  options.nodes_per_pod = scenario.fabric.nodes_per_pod;
  options.spines = scenario.fabric.spines;
  EventQueue queue;
  const Fabric fabric(options, queue);
  std::vector<std::string> names;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    names.push_back(fabric.link_name(link));
  return names;
}

LinkFaults gray(Prng& dice, core::SealMode seal) {
  LinkFaults faults;
  const std::uint32_t percent = one_in(dice, 3) ? 20 : 2;
  const auto rate = [&] { return static_cast<std::uint32_t>(dice.below(percent * kPercent)); };
  if (one_in(dice, 2)) faults.loss_ppm = rate();
  if (one_in(dice, 4)) faults.duplicate_ppm = rate();
  // Without a seal nothing would notice a flipped bit.
  if (one_in(dice, 4) && seal != core::SealMode::kNone) faults.corrupt_ppm = rate();
  if (one_in(dice, 4)) {
    faults.reorder_ppm = rate();
    faults.reorder_delay = duration_between(dice, microseconds(1), milliseconds(1));
  }
  if (one_in(dice, 6)) faults.extra_delay = duration_below(dice, milliseconds(3));
  if (one_in(dice, 6)) faults.rate_per_mille = static_cast<std::uint32_t>(dice.between(10, 500));
  return faults;
}

void add_gray_links(Prng& dice, const Plan& plan, const std::vector<std::string>& links,
                    Scenario& scenario) {
  const std::uint64_t count = dice.between(1, 6);
  // Some are there from the start, so that handshakes meet them.
  const bool early = one_in(dice, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    LinkFault fault;
    fault.link = links[dice.below(links.size())];
    fault.at = early ? Duration{} : duration_below(dice, plan.work_time);
    fault.duration = duration_below(dice, plan.work_time - fault.at);
    fault.faults = gray(dice, scenario.seal);
    if (!(fault.faults == LinkFaults{})) scenario.link_faults.push_back(fault);
  }
}

// A random subset of links is stopped one by one and restored in another order.
void add_swizzle(Prng& dice, const Plan& plan, const std::vector<std::string>& links,
                 Scenario& scenario) {
  std::vector<std::string> chosen;
  const std::uint64_t share = dice.between(2, 8);
  for (const std::string& link : links)
    if (one_in(dice, share)) chosen.push_back(link);
  if (chosen.empty()) return;
  const Duration begin = one_in(dice, 8) ? Duration{} : duration_below(dice, plan.work_time);
  const Duration time = duration_below(dice, std::min(plan.work_time - begin, milliseconds(200)));
  const auto count = static_cast<std::int64_t>(chosen.size());
  std::vector<std::int64_t> order(chosen.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t place = dice.below(static_cast<std::uint64_t>(i) + 1);
    order[static_cast<std::size_t>(i)] = order[place];
    order[place] = i;
  }
  const bool clog = one_in(dice, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    LinkFault fault;
    fault.link = chosen[static_cast<std::size_t>(i)];
    fault.at = begin + time * i / (2 * count);
    const Duration end =
        begin + time / 2 + time * (order[static_cast<std::size_t>(i)] + 1) / (2 * count);
    fault.duration = end - fault.at;
    fault.faults.clogged = clog;
    fault.faults.cut = !clog;
    scenario.link_faults.push_back(fault);
  }
}

void add_partition(Prng& dice, const Plan& plan, Scenario& scenario) {
  Partition partition;
  partition.at = duration_below(dice, plan.work_time);
  partition.duration =
      duration_below(dice, std::min(plan.work_time - partition.at, milliseconds(300)));
  const std::uint32_t nodes = scenario.fabric.nodes;
  // One alone, or about half of them.
  if (one_in(dice, 2)) {
    partition.nodes = 1ULL << dice.below(nodes);
  } else {
    for (std::uint32_t node = 0; node < nodes; ++node)
      if (one_in(dice, 2)) partition.nodes |= 1ULL << node;
  }
  partition.one_way = one_in(dice, 2);
  scenario.partitions.push_back(partition);
}

Action action_of(Prng& dice, const Plan& plan, const Scenario& scenario, ActionKind kind) {
  Action action;
  action.kind = kind;
  action.at = duration_below(dice, plan.work_time);
  action.node = static_cast<std::uint32_t>(dice.below(scenario.fabric.nodes));
  return action;
}

}  // namespace

void add_faults(Prng& dice, const Plan& plan, Scenario& scenario) {
  // A tenth of the seeds runs on a perfect fabric: what fails there is no fault's doing.
  if (one_in(dice, 10)) return;
  const std::vector<std::string> links = link_names(scenario);
  if (one_in(dice, 2)) add_gray_links(dice, plan, links, scenario);
  while (one_in(dice, 2)) add_swizzle(dice, plan, links, scenario);
  while (one_in(dice, 3)) add_partition(dice, plan, scenario);
}

void add_actions(Prng& dice, const Plan& plan, Scenario& scenario) {
  while (one_in(dice, 2)) {
    Action pause = action_of(dice, plan, scenario, ActionKind::kPause);
    pause.duration = duration_below(dice, one_in(dice, 3) ? milliseconds(200) : milliseconds(5));
    scenario.actions.push_back(pause);
  }
  if (one_in(dice, 6)) {
    // One node only: two that move at the same time cannot find each other again
    // without somebody who tells them.
    const Action first = action_of(dice, plan, scenario, ActionKind::kAddress);
    for (std::uint64_t times = dice.between(1, 3); times > 0; --times) {
      Action address = action_of(dice, plan, scenario, ActionKind::kAddress);
      address.node = first.node;
      address.nic = static_cast<std::uint32_t>(dice.below(scenario.fabric.nics));
      scenario.actions.push_back(address);
    }
  }
  while (one_in(dice, 8)) {
    Action restart = action_of(dice, plan, scenario, ActionKind::kRestart);
    restart.duration = duration_below(dice, milliseconds(one_in(dice, 2) ? 100 : 5));
    scenario.actions.push_back(restart);
  }
  while (one_in(dice, 6)) {
    Action close = action_of(dice, plan, scenario, ActionKind::kClose);
    close.peer = (close.node + 1) % scenario.fabric.nodes;
    scenario.actions.push_back(close);
  }
}

}  // namespace zhinu::sim::check

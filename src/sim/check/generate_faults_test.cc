#include <gtest/gtest.h>

#include <algorithm>

#include "sim/check/generate_parts.h"

namespace zhinu::sim::check {
namespace {

Scenario small_scenario() {
  Scenario scenario;
  scenario.fabric.nodes = 4;
  scenario.communicators = 4;
  return scenario;
}

Plan small_plan() {
  return {.work_time = milliseconds(50), .messages = 300, .bytes_left = 1 << 20};
}

TEST(GenerateFaults, add_faults__every_fault_ends_within_the_work) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario scenario = small_scenario();
    const Plan plan = small_plan();
    Prng dice(seed);
    add_faults(dice, plan, scenario);
    for (const LinkFault& fault : scenario.link_faults)
      EXPECT_LE(fault.at + fault.duration, plan.work_time);
    for (const Partition& partition : scenario.partitions)
      EXPECT_LE(partition.at + partition.duration, plan.work_time);
  }
}

TEST(GenerateFaults, add_faults__swizzled_links_come_back_in_another_order) {
  bool other_order = false;
  for (std::uint64_t seed = 1; seed <= 50 && !other_order; ++seed) {
    Scenario scenario = small_scenario();
    const Plan plan = small_plan();
    Prng dice(seed);
    add_faults(dice, plan, scenario);
    for (std::size_t i = 1; i < scenario.link_faults.size(); ++i) {
      const LinkFault& a = scenario.link_faults[i - 1];
      const LinkFault& b = scenario.link_faults[i];
      if (!(a.faults.cut && b.faults.cut) && !(a.faults.clogged && b.faults.clogged)) continue;
      other_order |= a.at < b.at && a.at + a.duration > b.at + b.duration;
    }
  }
  EXPECT_TRUE(other_order);
}

TEST(GenerateFaults, add_actions__nodes_exist) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario scenario = small_scenario();
    Prng dice(seed);
    add_actions(dice, small_plan(), scenario);
    for (const Action& action : scenario.actions) {
      EXPECT_LT(action.node, 4U);
      EXPECT_LT(action.peer, 4U);
    }
  }
}

}  // namespace
}  // namespace zhinu::sim::check

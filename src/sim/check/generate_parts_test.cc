#include "sim/check/generate_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(GenerateParts, add_messages__keeps_to_the_bytes_of_the_plan) {
  Scenario scenario = small_scenario();
  Plan plan = small_plan();
  Prng dice(1);
  add_messages(dice, plan, scenario);
  std::uint64_t bytes = 0;
  for (const Message& message : scenario.messages) {
    bytes += message.bytes;
    EXPECT_NE(message.from, message.to);
  }
  EXPECT_LE(bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(scenario.messages.size(), 300U);
}

TEST(GenerateParts, add_accesses__slots_do_not_overlap) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario scenario = small_scenario();
    Plan plan = small_plan();
    Prng dice(seed);
    add_accesses(dice, plan, scenario);
    for (const Access& a : scenario.accesses) {
      for (const Access& b : scenario.accesses) {
        if (a.region != b.region || !a.write || a.offset >= b.offset) continue;
        EXPECT_LE(a.offset + a.bytes, b.offset);
      }
    }
  }
}

TEST(GenerateParts, add_faults__every_fault_ends_within_the_work) {
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

TEST(GenerateParts, add_faults__swizzled_links_come_back_in_another_order) {
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

TEST(GenerateParts, add_endpoint_options__default_pools_are_smaller_than_a_node_wants) {
  Scenario scenario = small_scenario();
  Prng dice(1);
  add_endpoint_options(dice, scenario);
  ASSERT_FALSE(scenario.endpoints.empty());
  EXPECT_LE(scenario.endpoints[0].sends_max, 2'048U);
}

TEST(GenerateParts, add_actions__nodes_exist) {
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

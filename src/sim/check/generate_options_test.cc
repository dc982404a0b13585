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

TEST(GenerateOptions, add_endpoint_options__default_pools_are_smaller_than_a_node_wants) {
  Scenario scenario = small_scenario();
  Prng dice(1);
  add_endpoint_options(dice, scenario);
  ASSERT_FALSE(scenario.endpoints.empty());
  EXPECT_LE(scenario.endpoints[0].sends_max, 2'048U);
}

}  // namespace
}  // namespace zhinu::sim::check

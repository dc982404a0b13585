#include "sim/check/scenario_valid.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

bool valid(const Scenario& scenario) {
  ScenarioError error;
  return check_valid(scenario, error);
}

TEST(ScenarioValid, check_valid__the_default_is) { EXPECT_TRUE(valid({})); }

TEST(ScenarioValid, check_valid__a_message_to_its_own_node_is_not) {
  Scenario scenario;
  scenario.messages.push_back({});
  EXPECT_FALSE(valid(scenario));
  scenario.messages[0].to = 1;
  EXPECT_TRUE(valid(scenario));
  scenario.messages[0].communicator = 1;
  EXPECT_FALSE(valid(scenario));
}

TEST(ScenarioValid, check_valid__an_access_must_lie_in_its_region) {
  Scenario scenario;
  scenario.regions.push_back({.id = 3, .node = 1, .bytes = 100});
  scenario.accesses.push_back({.id = 0, .from = 0, .region = 3, .bytes = 60, .offset = 40});
  EXPECT_TRUE(valid(scenario));
  scenario.accesses[0].offset = 41;
  EXPECT_FALSE(valid(scenario));
  scenario.accesses[0].offset = 0;
  scenario.accesses[0].write = true;
  EXPECT_FALSE(valid(scenario));
  scenario.accesses[0] = {.id = 0, .from = 0, .region = 4};
  EXPECT_FALSE(valid(scenario));
}

TEST(ScenarioValid, check_valid__an_action_needs_its_nic) {
  Scenario scenario;
  scenario.actions.push_back({.kind = ActionKind::kAddress, .nic = 1});
  EXPECT_FALSE(valid(scenario));
  scenario.fabric.nics = 2;
  EXPECT_TRUE(valid(scenario));
}

}  // namespace
}  // namespace zhinu::sim::check

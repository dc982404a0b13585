#include <gtest/gtest.h>

#include "sim/check/world_fixture.h"

namespace zhinu::sim::check {
namespace {

TEST(WorldPost, post__pools_of_four_hold_posts_back_and_lose_none) {
  Scenario scenario = plain_scenario();
  scenario.endpoints[0].sends_max = 8;
  scenario.endpoints[0].receives_max = 16;
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.items, 62U);
}

TEST(WorldPost, post__a_paused_node_posts_when_it_runs_again) {
  Scenario scenario = plain_scenario();
  scenario.actions.push_back(
      {.kind = ActionKind::kPause, .at = {}, .duration = milliseconds(10), .node = 1});
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.items, 62U);
}

TEST(WorldPost, post__writes_of_one_slot_go_one_after_the_other) {
  Scenario scenario = plain_scenario();
  for (std::uint32_t id = 10; id < 20; ++id) {
    Access again = scenario.accesses[0];
    again.id = id;
    scenario.accesses.push_back(again);
  }
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.items, 72U);
}

TEST(WorldPost, cancel__the_cancelled_end_and_the_others_are_served) {
  Scenario scenario = plain_scenario();
  for (Message& message : scenario.messages) {
    if (message.id % 4 == 0) message.send_cancel = microseconds(5);
    if (message.id % 4 == 1) message.receive_cancel = microseconds(5);
  }
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
}

}  // namespace
}  // namespace zhinu::sim::check

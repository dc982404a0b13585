#include <gtest/gtest.h>

#include "sim/check/world_fixture.h"

namespace zhinu::sim::check {
namespace {

class ChangesCompletions : public Saboteur {
 public:
  ChangesCompletions(ItemKind of_kind, std::uint32_t see_times) : kind(of_kind), times(see_times) {}
  std::uint32_t completions(ItemRef item, core::Completion& /*completion*/) override {
    return item.kind == kind && item.index == 1 ? times : 1;
  }
  ItemKind kind;
  std::uint32_t times;
};

TEST(WorldPhases, run__a_lost_completion_of_a_read_breaks_completion_after_heal) {
  ChangesCompletions saboteur(ItemKind::kAccess, 0);
  EXPECT_EQ(broken_by(saboteur), "completion_after_heal");
}

TEST(WorldPhases, run__a_lost_completion_of_a_receive_breaks_completion_after_heal) {
  ChangesCompletions saboteur(ItemKind::kReceive, 0);
  EXPECT_EQ(broken_by(saboteur), "completion_after_heal");
}

TEST(WorldPhases, run__items_of_a_communicator_that_nobody_serves_are_cancelled_at_the_end) {
  Scenario scenario = plain_scenario();
  scenario.communicators = 2;
  for (Message& message : scenario.messages) {
    if (message.id % 3 != 0) continue;
    message.communicator = 1;
    message.receive_at = kNever;
  }
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
}

// Node 1 restarts, and node 0 reads of it. Node 0 hears nothing of the new process before it
// gives up the old one, which takes longer than a run.
Scenario apart_scenario() {
  Scenario scenario = plain_scenario();
  scenario.messages.clear();
  scenario.regions = {{.id = 0, .node = 1, .bytes = 1'000}};
  scenario.accesses = {{.id = 0, .from = 0, .region = 0, .bytes = 100, .at = milliseconds(9)}};
  scenario.actions.push_back({.kind = ActionKind::kRestart,
                              .at = milliseconds(2),
                              .duration = milliseconds(1),
                              .node = 1});
  return scenario;
}

TEST(WorldPhases, run__a_restarted_node_that_closes_before_it_is_heard_is_waited_for) {
  Scenario scenario = apart_scenario();
  scenario.actions.push_back(
      {.kind = ActionKind::kPause, .at = milliseconds(1), .duration = milliseconds(7), .node = 0});
  scenario.actions.push_back(
      {.kind = ActionKind::kClose, .at = milliseconds(5), .node = 1, .peer = 0});
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
}

TEST(WorldPhases, run__a_restarted_node_cannot_find_one_that_moved) {
  Scenario scenario = apart_scenario();
  LinkFaults cut;
  cut.cut = true;
  scenario.link_faults.push_back({"n1:0<", milliseconds(1), milliseconds(7), cut});
  scenario.actions.push_back({.kind = ActionKind::kAddress, .at = milliseconds(5), .node = 0});
  Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  // Without the restart it is found again, and must be.
  scenario.actions.erase(scenario.actions.begin());
  ASSERT_EQ(scenario.actions[0].kind, ActionKind::kAddress);
  outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
}

}  // namespace
}  // namespace zhinu::sim::check

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

}  // namespace
}  // namespace zhinu::sim::check

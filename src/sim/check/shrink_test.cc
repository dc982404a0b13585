#include "sim/check/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/check/generate.h"

namespace zhinu::sim::check {
namespace {

Scenario many_messages() {
  Scenario scenario;
  scenario.fabric.nodes = 10;
  for (std::uint32_t id = 0; id < 200; ++id)
    scenario.messages.push_back({.id = id, .from = id % 3, .to = 3 + id % 3});
  return scenario;
}

bool has_message(const Scenario& scenario, std::uint32_t id) {
  return std::any_of(scenario.messages.begin(), scenario.messages.end(),
                     [id](const Message& message) { return message.id == id; });
}

TEST(Shrink, shrink__leaves_the_two_messages_that_matter) {
  std::uint32_t attempts = 0;
  const Scenario smallest = shrink(
      many_messages(),
      [](const Scenario& scenario) {
        return has_message(scenario, 17) && has_message(scenario, 111);
      },
      {.attempts_max = 1'000}, attempts);
  ASSERT_EQ(smallest.messages.size(), 2U);
  EXPECT_EQ(smallest.messages[0].id, 17U);
  EXPECT_EQ(smallest.messages[1].id, 111U);
  EXPECT_LE(smallest.fabric.nodes, 6U);
  EXPECT_LT(attempts, 200U);
}

TEST(Shrink, shrink__stops_when_the_attempts_are_used_up) {
  std::uint32_t attempts = 0;
  const Scenario smallest = shrink(
      many_messages(), [](const Scenario& scenario) { return has_message(scenario, 17); },
      {.attempts_max = 5}, attempts);
  EXPECT_EQ(attempts, 5U);
  EXPECT_TRUE(has_message(smallest, 17));
}

TEST(Shrink, shrink__what_does_not_fail_any_more_is_never_returned) {
  const auto fails = [](const Scenario& scenario) {
    return scenario.messages.size() >= 5 && scenario.fabric.nics >= 2;
  };
  Scenario scenario = many_messages();
  scenario.fabric.nics = 4;
  scenario.fabric.paths = 8;
  std::uint32_t attempts = 0;
  const Scenario smallest = shrink(scenario, fails, {.attempts_max = 1'000}, attempts);
  EXPECT_TRUE(fails(smallest));
  EXPECT_EQ(smallest.messages.size(), 5U);
  EXPECT_EQ(smallest.fabric.paths, 4U);
}

TEST(Shrink, shrink__seal_stays_while_a_link_corrupts) {
  Scenario scenario;
  scenario.seal = core::SealMode::kCrc32c;
  scenario.link_faults.push_back({.link = "n0:0>", .at = {}, .duration = {}, .faults = {}});
  scenario.link_faults[0].faults.corrupt_ppm = 1;
  std::uint32_t attempts = 0;
  const Scenario smallest = shrink(
      scenario, [](const Scenario& s) { return !s.link_faults.empty(); }, {}, attempts);
  EXPECT_EQ(smallest.seal, core::SealMode::kCrc32c);
}

}  // namespace
}  // namespace zhinu::sim::check

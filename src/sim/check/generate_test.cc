#include "sim/check/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/check/scenario_file.h"
#include "sim/check/scenario_valid.h"

namespace zhinu::sim::check {
namespace {

TEST(Generate, generate__same_seed_same_scenario) {
  EXPECT_EQ(write_scenario(generate(5)), write_scenario(generate(5)));
  EXPECT_NE(write_scenario(generate(5)), write_scenario(generate(6)));
}

TEST(Generate, generate__every_scenario_is_valid_and_within_its_limits) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario scenario = generate(seed);
    ScenarioError error;
    EXPECT_TRUE(check_valid(scenario, error)) << seed << ": " << error.expected << error.found;
    EXPECT_LE(scenario.messages.size(), kMessagesMax);
    EXPECT_LE(scenario.heal_at, kWorkTimeMax);
    for (const Message& message : scenario.messages) EXPECT_LE(message.send_at, kWorkTimeMax);
  }
}

TEST(Generate, generate__one_node_at_most_moves_its_address) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::uint64_t movers = 0;
    for (const Action& action : generate(seed).actions)
      if (action.kind == ActionKind::kAddress) movers |= 1ULL << action.node;
    EXPECT_EQ(movers & (movers - 1), 0U) << seed;
  }
}

TEST(Generate, generate__nothing_corrupts_where_no_seal_would_notice) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario scenario = generate(seed);
    if (scenario.seal != core::SealMode::kNone) continue;
    for (const LinkFault& fault : scenario.link_faults) EXPECT_EQ(fault.faults.corrupt_ppm, 0U);
  }
}

TEST(Generate, generate__seeds_differ_in_kind) {
  std::uint32_t clean = 0;
  std::uint32_t large = 0;
  std::uint32_t misbehaving = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario scenario = generate(seed);
    if (scenario.link_faults.empty() && scenario.partitions.empty()) ++clean;
    if (scenario.fabric.nodes > 16) ++large;
    if (!(scenario.misbehaviour == MisbehaviourRates{})) ++misbehaving;
  }
  EXPECT_GT(clean, 10U);
  EXPECT_LT(clean, 150U);
  EXPECT_GT(large, 3U);
  EXPECT_GT(misbehaving, 50U);
}

}  // namespace
}  // namespace zhinu::sim::check

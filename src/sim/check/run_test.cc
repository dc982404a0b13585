#include "sim/check/run.h"

#include <gtest/gtest.h>

#include "sim/check/generate.h"
#include "sim/check/scenario_file.h"

namespace zhinu::sim::check {
namespace {

// Seeds of all sizes; `zhinu sim check` runs many more.
constexpr std::uint64_t kSeeds = 12;

TEST(Run, run_twice__random_seeds_hold_their_invariants) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = run_twice(generate(seed));
    ASSERT_FALSE(outcome.failure.has_value())
        << "seed " << seed << ": " << name_of(outcome.failure->invariant) << ": "
        << outcome.failure->detail << "\nzhinu sim check --seed " << seed;
  }
}

TEST(Run, run_once__a_scenario_from_a_file_is_the_same_run) {
  const Scenario scenario = generate(3);
  Scenario back;
  ScenarioError error;
  ASSERT_TRUE(read_scenario(write_scenario(scenario), back, error));
  EXPECT_EQ(run_once(back).hash, run_once(scenario).hash);
}

}  // namespace
}  // namespace zhinu::sim::check

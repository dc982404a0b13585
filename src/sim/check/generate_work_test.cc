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

TEST(GenerateWork, add_messages__keeps_to_the_bytes_of_the_plan) {
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

TEST(GenerateWork, add_accesses__slots_do_not_overlap) {
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

}  // namespace
}  // namespace zhinu::sim::check

// A small scenario and saboteurs' verdicts, for the tests of the world.
#pragma once

#include <string>

#include "sim/check/run.h"

namespace zhinu::sim::check {

// Two nodes, thirty messages of all sizes, a write with notification and a read.
inline Scenario plain_scenario() {
  Scenario scenario;
  scenario.seal = core::SealMode::kNone;
  scenario.heal_at = milliseconds(20);
  scenario.fabric.paths = 2;
  for (std::uint32_t id = 0; id < 30; ++id) {
    Message message;
    message.id = id;
    message.from = id % 2;
    message.to = 1 - message.from;
    message.tag = id % 3;
    message.bytes = 8 + (id % 5 == 0 ? 100'000 : 300 * std::uint64_t{id});
    message.receive_bytes = message.bytes;
    message.send_at = microseconds(100 + 10 * id);
    message.receive_at = microseconds(50 + 10 * id);
    scenario.messages.push_back(message);
  }
  scenario.regions.push_back({.id = 0, .node = 1, .bytes = 50'000, .writable = true});
  scenario.regions.push_back({.id = 1, .node = 0, .bytes = 30'000});
  scenario.accesses.push_back({.id = 0,
                               .from = 0,
                               .region = 0,
                               .bytes = 40'000,
                               .offset = 64,
                               .write = true,
                               .notify = true,
                               .at = microseconds(500)});
  scenario.accesses.push_back(
      {.id = 1, .from = 1, .region = 1, .bytes = 20'000, .offset = 77, .at = microseconds(500)});
  return scenario;
}

// The name of the invariant that the saboteur breaks.
inline std::string broken_by(Saboteur& saboteur, const Scenario& scenario = plain_scenario()) {
  const Outcome outcome = run_once(scenario, &saboteur);
  return outcome.failure ? std::string(name_of(outcome.failure->invariant)) : "nothing";
}

}  // namespace zhinu::sim::check

#include "sim/check/run.h"

#include <utility>

#include "sim/check/world.h"

namespace zhinu::sim::check {

Outcome run_once(const Scenario& scenario, Saboteur* saboteur, TraceSink trace) {
  World world(scenario, saboteur, std::move(trace));
  world.run();
  Outcome outcome;
  outcome.hash = world.hash();
  outcome.elapsed = world.elapsed();
  outcome.packets = world.packets();
  outcome.events = world.events();
  outcome.items = world.items_ended();
  outcome.faults = world.faults();
  outcome.failure = world.failure();
  return outcome;
}

Outcome run_twice(const Scenario& scenario) {
  Outcome first = run_once(scenario);
  if (first.failure) return first;
  const Outcome second = run_once(scenario);
  if (second.hash != first.hash) {
    first.failure =
        Failure{Invariant::kSameHash,
                "two runs of the same scenario differ: expected " + std::to_string(first.hash) +
                    ", found " + std::to_string(second.hash),
                second.elapsed};
  }
  return first;
}

}  // namespace zhinu::sim::check

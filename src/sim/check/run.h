// Runs scenarios and says what came of it. Thread rule: none needed; each run has its
// own world.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "sim/check/injector.h"
#include "sim/check/invariant.h"
#include "sim/check/saboteur.h"
#include "sim/check/scenario.h"
#include "sim/check/trace.h"

namespace zhinu::sim::check {

struct Outcome {
  std::uint64_t hash = 0;
  Duration elapsed;  // virtual
  std::uint64_t packets = 0;
  std::uint64_t events = 0;
  std::uint64_t items = 0;  // that ended: sends, receives, writes, reads
  FaultCounts faults{};
  std::optional<Failure> failure;
};

// `saboteur` may be null, `trace` empty.
Outcome run_once(const Scenario& scenario, Saboteur* saboteur = nullptr, TraceSink trace = {});
// Runs twice and compares the hashes; the figures are those of one run.
Outcome run_twice(const Scenario& scenario);

}  // namespace zhinu::sim::check

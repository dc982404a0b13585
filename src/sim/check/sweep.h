// Runs many seeds, each in a process of its own, and reports what they found.
//
// Results do not depend on the number of jobs. A failure is shrunk and kept as the
// text of a scenario; whoever runs the sweep writes files and prints. Thread rule:
// one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/check/run.h"

namespace zhinu::sim::check {

struct SweepOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::uint32_t jobs = 1;
  std::uint32_t shrink_attempts = 200;
  std::uint32_t shrunk_failures_max = 3;  // further failures are kept as they are
  // Becomes readable when the user interrupts; negative for never.
  int interrupt_fd = -1;
};

struct SweepFailure {
  std::uint64_t seed = 0;
  Failure failure;
  std::string scenario;  // text of the scenario file
  std::uint32_t attempts = 0;
};

struct SweepReport {
  std::uint64_t seeds = 0;  // that finished
  Duration virtual_time;    // of one run of each seed; each is run twice
  std::uint64_t packets = 0;
  std::uint64_t events = 0;
  std::uint64_t items = 0;
  FaultCounts faults{};
  std::uint64_t hash = 0;
  std::uint64_t cpu_us = 0;
  std::vector<SweepFailure> failures;  // by seed
  bool interrupted = false;
};

// What progress is told: seeds that finished and failures so far, or that one is being
// shrunk.
struct SweepProgress {
  std::uint64_t seeds = 0;
  std::uint64_t of = 0;
  std::uint64_t failures = 0;
  bool shrinking = false;
};
using SweepWatcher = std::function<void(const SweepProgress&)>;

SweepReport sweep(const SweepOptions& options, const SweepWatcher& watcher);

// One scenario in a process of its own, run twice.
Outcome run_scenario_isolated(const Scenario& scenario, std::uint64_t* cpu_us = nullptr);

}  // namespace zhinu::sim::check

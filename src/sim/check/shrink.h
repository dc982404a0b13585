// Makes a failing scenario smaller while the same invariant still fails.
//
// Leaves out halves, then quarters and so on of messages, accesses, faults and
// actions; then simplifies fabric and options; then again, until nothing helps or
// the attempts are used up. Thread rule: none needed.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/check/scenario.h"

namespace zhinu::sim::check {

struct ShrinkOptions {
  std::uint32_t attempts_max = 300;
};

// True while the scenario fails in the way that is looked for. May run it anywhere.
using StillFails = std::function<bool(const Scenario&)>;

// `attempts` counts the runs that it took.
Scenario shrink(const Scenario& scenario, const StillFails& still_fails,
                const ShrinkOptions& options, std::uint32_t& attempts);

}  // namespace zhinu::sim::check

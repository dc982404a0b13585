// Whether a scenario makes sense before it is run: every number within what exists.
//
// Thread rule: none needed.
#pragma once

#include "sim/check/scenario.h"
#include "sim/check/scenario_file.h"

namespace zhinu::sim::check {

// True, or false and what is wrong.
bool check_valid(const Scenario& scenario, ScenarioError& error);

}  // namespace zhinu::sim::check

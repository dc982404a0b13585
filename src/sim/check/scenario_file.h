// Scenarios as text: YAML of two levels, every dimension with its unit.
//
// Scalars and maps at the top, lists of maps in braces below; fields that have their
// default value are left out. What write_scenario writes, read_scenario gives back
// exactly. Files are read and written by the caller. Thread rule: none needed.
#pragma once

#include <string>
#include <string_view>

#include "sim/check/scenario.h"

namespace zhinu::sim::check {

std::string write_scenario(const Scenario& scenario);

// What is wrong with a scenario file, for people.
struct ScenarioError {
  std::uint32_t line = 0;  // 0: the file as a whole
  std::string expected;
  std::string found;
};

// True and `out`, or false and `error`.
bool read_scenario(std::string_view text, Scenario& out, ScenarioError& error);

}  // namespace zhinu::sim::check

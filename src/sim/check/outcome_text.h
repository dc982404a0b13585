// An outcome as text, to travel from a child process to its parent.
//
// Not a format for files: both ends are the same binary. Thread rule: none needed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/check/run.h"

namespace zhinu::sim::check {

std::string write_outcome(const Outcome& outcome);
// nullopt for what write_outcome did not write, such as the answer of a dying child.
std::optional<Outcome> read_outcome(std::string_view text);

}  // namespace zhinu::sim::check

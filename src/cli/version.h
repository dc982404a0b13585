// `zhinu version`: prints name and version, for people or as JSON. Returns the exit code.
#pragma once

#include "cli/terminal.h"

namespace zhinu::cli {

int print_version(const OutputOptions& output);

}  // namespace zhinu::cli

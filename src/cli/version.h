// `zhinu version`.
#pragma once

#include "cli/terminal.h"

namespace zhinu::cli {

int print_version(const OutputOptions& output);

}  // namespace zhinu::cli

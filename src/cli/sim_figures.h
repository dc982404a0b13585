// `zhinu sim figures`: incast and path loss in virtual time, as a table or JSON.
#pragma once

#include "cli/terminal.h"

namespace zhinu::cli {

int sim_figures(const OutputOptions& output);

}  // namespace zhinu::cli

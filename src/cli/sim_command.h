// `zhinu sim …`: the commands of the simulator, as the command line has them.
#pragma once

#include <memory>

#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace zhinu::cli {

// Adds `sim` and its commands to `app`. The command that was given sets `exit_code`.
void add_sim_commands(CLI::App& app, OutputOptions& output, int& exit_code);

}  // namespace zhinu::cli

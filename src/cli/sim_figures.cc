#include "cli/sim_figures.h"

#include "cli/exit_code.h"

namespace zhinu::cli {

int sim_figures(const OutputOptions& /*output*/) { return kGood; }

}  // namespace zhinu::cli

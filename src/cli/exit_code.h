// What the exit code of the program says.
#pragma once

namespace zhinu::cli {

enum ExitCode : int {
  kGood = 0,
  kBadResult = 1,  // it ran, and what it found is bad
  kUsage = 2,      // usage or configuration
  kInterrupted = 130,
};

}  // namespace zhinu::cli

// `zhinu sim check`: many seeds, or one scenario again; prints a table or JSON.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal.h"

namespace zhinu::cli {

struct SimCheckOptions {
  std::uint64_t seeds = 0;  // 0: one, or a hundred when no seed is given either
  std::uint64_t seed = 0;   // the first; 0: from 1
  std::uint32_t jobs = 0;   // 0: as many as there are processors
  std::string scenario;     // file to replay
  bool trace = false;       // with `scenario`: print what happens, packet by packet
  std::string out = ".";    // where scenario files of failures go
};

int sim_check(const SimCheckOptions& options, const OutputOptions& output);

}  // namespace zhinu::cli

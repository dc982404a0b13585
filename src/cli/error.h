// Errors of the program as people see them: a code, what was expected and found, and
// what to do next.
#pragma once

#include <string>

#include "cli/exit_code.h"

namespace zhinu::cli {

// Area letter and number; each is raised by a test.
inline constexpr const char* kErrorScenarioUnreadable = "ZHINU-S1";
inline constexpr const char* kErrorScenarioWrong = "ZHINU-S2";
inline constexpr const char* kErrorOutputUnwritable = "ZHINU-S3";

struct Error {
  const char* code = "";
  std::string expected;
  std::string found;
  std::string next;  // what to do
};

// On stderr; returns `exit_code`.
int report(const Error& error, ExitCode exit_code);

}  // namespace zhinu::cli

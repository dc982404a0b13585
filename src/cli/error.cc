#include "cli/error.h"

#include <fmt/format.h>

namespace zhinu::cli {

int report(const Error& error, ExitCode exit_code) {
  fmt::print(stderr, "{}: expected {}, found {}\n", error.code, error.expected, error.found);
  if (!error.next.empty()) fmt::print(stderr, "  {}\n", error.next);
  return exit_code;
}

}  // namespace zhinu::cli

#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace zhinu {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "zhinu: assertion failed: %s (%s:%d)\n", expression, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace zhinu

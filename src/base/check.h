// Assertions about zhinu's own state. They are always on, release builds too.
//
// ZHINU_ASSERT is for invariants of our own code only. What a peer, a user or
// the kernel does is never asserted: that is a Result and a counter.
#pragma once

namespace zhinu {

// Prints the expression with its place and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace zhinu

#define ZHINU_ASSERT(expression)       \
  (__builtin_expect(!!(expression), 1) \
       ? static_cast<void>(0)          \
       : ::zhinu::assertion_failed(#expression, __FILE__, __LINE__))

// A rolling 64-bit hash of everything that happens in a run, in order.
//
// Two runs are the same run exactly if their hashes agree; compilers, optimisation
// levels and job counts must not change it. Integers only. Thread rule: one owner.
#pragma once

#include <cstdint>

#include "base/prng.h"

namespace zhinu::sim {

class TraceHash {
 public:
  constexpr void add(std::uint64_t word) {
    state_ = (((state_ << 23) | (state_ >> 41)) ^ word) * 0x9e3779b97f4a7c15ULL;
    ++words_;
  }
  template <class... Words>
  constexpr void add(std::uint64_t first, Words... rest) {
    add(first);
    (add(static_cast<std::uint64_t>(rest)), ...);
  }
  constexpr std::uint64_t value() const { return mix64(state_, words_); }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ULL;  // digits of pi: anything but zero
  std::uint64_t words_ = 0;
};

}  // namespace zhinu::sim

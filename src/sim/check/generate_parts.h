// The parts of generate(): each draws from a stream of its own, so that a change of
// one leaves the others as they are. Internal to the generator.
#pragma once

#include <array>
#include <cstdint>

#include "base/prng.h"
#include "sim/check/scenario.h"

namespace zhinu::sim::check {

// How a seed is laid out, before its parts are drawn.
struct Plan {
  Duration work_time;            // posts happen within this
  std::uint32_t messages = 0;    // wanted
  std::uint64_t bytes_left = 0;  // of contents, over all messages and accesses
};

void add_endpoint_options(Prng& dice, Scenario& scenario);
void add_messages(Prng& dice, Plan& plan, Scenario& scenario);
void add_accesses(Prng& dice, Plan& plan, Scenario& scenario);
void add_faults(Prng& dice, const Plan& plan, Scenario& scenario);
void add_actions(Prng& dice, const Plan& plan, Scenario& scenario);

// True once in `n`.
inline bool one_in(Prng& dice, std::uint64_t n) { return dice.below(n) == 0; }

inline Duration duration_below(Prng& dice, Duration limit) {
  return Duration{static_cast<std::int64_t>(
      dice.below(static_cast<std::uint64_t>(limit.ns > 0 ? limit.ns : 1)))};
}
inline Duration duration_between(Prng& dice, Duration low, Duration high) {
  return low + duration_below(dice, high - low + Duration{1});
}

template <class T, std::size_t kCount>
T pick(Prng& dice, const std::array<T, kCount>& choices) {
  return choices[dice.below(kCount)];
}

}  // namespace zhinu::sim::check

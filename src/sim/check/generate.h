// From a seed to a scenario: fabric, options, work and faults, all by dice.
//
// The same seed gives the same scenario on every machine. At most 2,000 messages and
// 2 virtual seconds of work; most are far smaller, so that many run. Thread rule: none
// needed.
#pragma once

#include <cstdint>

#include "sim/check/scenario.h"

namespace zhinu::sim::check {

inline constexpr std::uint32_t kMessagesMax = 2'000;
inline constexpr Duration kWorkTimeMax = seconds(2);

Scenario generate(std::uint64_t seed);

}  // namespace zhinu::sim::check

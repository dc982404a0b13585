// The round-trip time of one path: smoothed, its variation, its smallest, the queueing delay.
//
// Smoothing as RFC 6298 (gains 1/8 and 1/4). The smallest is that of the last one to two
// kMinInterval, so that a path that became longer for good is not taken for a full queue
// forever. Integers only. Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace zhinu::core {

class RttEstimator {
 public:
  static constexpr Duration kMinInterval = seconds(10);

  // One measurement: `elapsed` since the packet left, of which the peer says that it waited
  // `peer_delay` before it answered. A stated delay that would lead below the smallest RTT
  // seen is not believed.
  void add(Instant now, Duration elapsed, Duration peer_delay);

  // All zero before the first measurement. Saturate at 4.2 s.
  Duration smoothed() const { return {smoothed_ns_}; }
  Duration variation() const { return {variation_ns_}; }
  Duration min() const { return {min_ns_ < min_before_ns_ ? min_ns_ : min_before_ns_}; }
  // RTT above the smallest, smoothed over about two measurements.
  Duration queue_delay() const { return {queue_delay_ns_}; }

 private:
  // 32 bits keep a path within its budget.
  std::uint32_t smoothed_ns_ = 0;
  std::uint32_t variation_ns_ = 0;
  std::uint32_t min_ns_ = 0;         // of the current interval
  std::uint32_t min_before_ns_ = 0;  // of the interval before
  std::uint32_t queue_delay_ns_ = 0;
  std::uint32_t interval_end_ms_ = 0;  // about milliseconds, wrapping
};

}  // namespace zhinu::core

#include "core/rtt.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace zhinu::core {
namespace {

constexpr std::int64_t kRttMaxNs = std::numeric_limits<std::uint32_t>::max();

// `old` moved by 1 / 2^shift of the way to `sample`.
std::uint32_t blend(std::uint32_t old, std::uint32_t sample, unsigned shift) {
  const std::int64_t step = (std::int64_t{sample} - std::int64_t{old}) / (1 << shift);
  return static_cast<std::uint32_t>(old + step);
}

// Units of 2^20 ns, low 32 bits.
std::uint32_t coarse(Instant at) { return static_cast<std::uint32_t>(at.ns >> 20); }

}  // namespace

void RttEstimator::add(Instant now, Duration elapsed, Duration peer_delay) {
  ZHINU_ASSERT(elapsed >= Duration{});
  const bool first = smoothed_ns_ == 0;
  std::int64_t ns = elapsed.ns;
  // The peer may state any delay; it must not make the path look shorter than it is.
  if (!first && peer_delay > Duration{} && ns - min().ns >= peer_delay.ns) ns -= peer_delay.ns;
  const auto sample = static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 1, kRttMaxNs));

  if (first) {
    smoothed_ns_ = sample;
    variation_ns_ = sample / 2;
    min_ns_ = sample;
    min_before_ns_ = sample;
    interval_end_ms_ = coarse(now + kMinInterval);
    return;
  }
  // The difference of wrapping times is right within 25 days.
  if (static_cast<std::int32_t>(coarse(now) - interval_end_ms_) >= 0) {
    min_before_ns_ = min_ns_;
    min_ns_ = sample;
    interval_end_ms_ = coarse(now + kMinInterval);
  }
  min_ns_ = std::min(min_ns_, sample);
  const std::uint32_t off = sample > smoothed_ns_ ? sample - smoothed_ns_ : smoothed_ns_ - sample;
  variation_ns_ = blend(variation_ns_, off, 2);
  smoothed_ns_ = blend(smoothed_ns_, sample, 3);
  queue_delay_ns_ = blend(queue_delay_ns_, sample - static_cast<std::uint32_t>(min().ns), 1);
}

}  // namespace zhinu::core

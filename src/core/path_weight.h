// How much of the traffic one path takes: base share × loss multiplier × ramp.
//
// The multiplier lies in [1/8, 1]: it shrinks with the share of lost packets among the
// last few hundred and grows back as packets are acknowledged, so that a gray path carries
// less, but enough to be measured. The ramp lets a path that returned take its share in
// steps of 1/8 (design decision 7). Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace zhinu::core {

class PathWeight {
 public:
  PathWeight() = default;
  explicit PathWeight(std::uint16_t base) : base_(base), value_(base) {}

  // In effect, 256 = 1.0. Zero only when the base is: a standby path.
  std::uint16_t value() const { return value_; }

  // Share of packets lost lately.
  std::uint32_t loss_per_mille() const { return loss_ * 1'000 / 65'536; }

  // `step` is how long a path must go without a loss before the next step of its ramp.
  void on_acked(Instant now, std::uint32_t packets, Duration step) {
    if (loss_ != 0 || ramp_ < kRampFull) improve(now, packets, step);
  }
  void on_lost(Instant now, std::uint32_t packets, Duration step);
  // The path returned: it starts with the first step.
  void begin_ramp(Instant now, Duration step);

 private:
  static constexpr std::uint8_t kRampFull = 8;

  void improve(Instant now, std::uint32_t packets, Duration step);
  void update();

  Instant ramp_step_at_;
  std::uint32_t loss_ = 0;  // share of lost packets, 65,536 = all, over about kLossMemory packets
  std::uint16_t base_ = 256;
  std::uint16_t value_ = 256;
  std::uint8_t ramp_ = kRampFull;  // eighths
};

}  // namespace zhinu::core

#include "core/path_weight.h"

#include <algorithm>

#include "base/check.h"

namespace zhinu::core {
namespace {

// Each packet moves the loss share by 1/256 of the way: one loss in 256 packets is seen,
// a burst is forgotten after some hundred packets.
constexpr std::uint32_t kLossMemory = 256;
constexpr std::uint32_t kLossAll = 65'536;
// 5 % of loss leave about a quarter of the share, 6 % and more an eighth.
constexpr std::uint32_t kMultiplierFull = 256;
constexpr std::uint32_t kMultiplierMin = 32;
constexpr std::uint32_t kMultiplierLossSlope = 15;  // per kLossMemory-th of kLossAll

std::uint32_t multiplier(std::uint32_t loss) {
  const std::uint32_t cut = loss * kMultiplierLossSlope / kLossMemory;
  return cut < kMultiplierFull - kMultiplierMin ? kMultiplierFull - cut : kMultiplierMin;
}

}  // namespace

void PathWeight::on_lost(Instant now, std::uint32_t packets, Duration step) {
  const std::uint32_t n = std::min(packets, kLossMemory);
  loss_ += (kLossAll - loss_) * n / kLossMemory;
  ramp_step_at_ = now + step;
  update();
}

void PathWeight::begin_ramp(Instant now, Duration step) {
  ramp_ = 1;
  ramp_step_at_ = now + step;
  update();
}

void PathWeight::improve(Instant now, std::uint32_t packets, Duration step) {
  if (packets == 0) return;
  const std::uint32_t n = std::min(packets, kLossMemory);
  // At least 1, so that the share reaches zero.
  loss_ -= std::min(loss_, std::max(1U, loss_ * n / kLossMemory));
  if (ramp_ < kRampFull && now >= ramp_step_at_) {
    ++ramp_;
    ramp_step_at_ = now + step;
  }
  update();
}

void PathWeight::update() {
  ZHINU_ASSERT(loss_ <= kLossAll);
  ZHINU_ASSERT(ramp_ >= 1 && ramp_ <= kRampFull);
  const std::uint32_t value =
      std::uint32_t{base_} * multiplier(loss_) / kMultiplierFull * ramp_ / kRampFull;
  value_ = static_cast<std::uint16_t>(base_ == 0 ? 0 : std::max(1U, value));
}

}  // namespace zhinu::core

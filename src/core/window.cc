#include "core/window.h"

#include <algorithm>

namespace zhinu::core {
namespace {

// One large packet a round: what TCP's segment is to its window.
constexpr std::uint64_t kIncreaseBytes = 8 * 1024;
// After this many calm rounds the window grows by a quarter a round: capacity came back
// (a path returned, another flow ended). Below, flows find their fair share by steps.
constexpr std::uint32_t kCalmRounds = 5;
// "Far below the target": a queue of a quarter of it is noise of the hosts.
constexpr std::int64_t kCalmDivisor = 4;

// Cuts in 1/1024 of the window. At most half a round; a queue delay of d over a target t
// cuts 4/5 (d - t) / d (Swift), marks cut half their share (DCTCP).
constexpr std::uint64_t kWhole = 1'024;
constexpr std::uint64_t kCutMax = kWhole / 2;
constexpr Duration kDelayMax = seconds(10);  // keeps the products within 64 bits

std::uint64_t delay_cut(Duration delay, Duration target) {
  const auto delay_ns = static_cast<std::uint64_t>(std::min(delay, kDelayMax).ns);
  const auto target_ns = static_cast<std::uint64_t>(target.ns);
  if (delay_ns <= target_ns) return 0;
  return (delay_ns - target_ns) * 4 * kWhole / (delay_ns * 5);
}

std::uint64_t mark_cut(std::uint32_t marked_per_mille) {
  return std::min(marked_per_mille, 1'000U) * kCutMax / 1'000;
}

}  // namespace

Window::Window(const WindowOptions& options) : options_(options) {
  ZHINU_ASSERT(options.target_delay > Duration{});
  ZHINU_ASSERT(options.min_bytes > 0);
  ZHINU_ASSERT(options.min_bytes <= options.max_bytes);
  set(options.initial_bytes);
}

void Window::on_path_dead(std::uint32_t share_per_mille) {
  ZHINU_ASSERT(share_per_mille <= 1'000);
  set(bytes_ - bytes_ / 1'000 * share_per_mille);
  slow_start_ = false;
}

void Window::on_congestion(Instant now, Duration rtt) {
  if (now < cut_end_) return;
  cut_end_ = now + rtt;
  set(bytes_ / 2);
  slow_start_ = false;
  calm_rounds_ = 0;
}

void Window::end_round(Instant now, Duration rtt, Duration queue_delay,
                       std::uint32_t marked_per_mille) {
  const std::uint64_t cut =
      std::max(delay_cut(queue_delay, options_.target_delay), mark_cut(marked_per_mille));
  if (queue_delay > options_.target_delay || marked_per_mille > 0) {
    slow_start_ = false;
    calm_rounds_ = 0;
    if (now >= cut_end_) {  // else the losses of this very queue have cut it already
      set(bytes_ - bytes_ / kWhole * std::min(cut, kCutMax));
      cut_end_ = now + rtt;
    }
  } else if (limited_) {
    grow(queue_delay);
  }
  round_end_ = now + rtt;
  acked_in_round_ = 0;
  limited_ = room() < kLimitedRoomBytes;
}

void Window::grow(Duration queue_delay) {
  const bool calm = kCalmDivisor * queue_delay < options_.target_delay;
  calm_rounds_ = calm ? calm_rounds_ + 1 : 0;
  slow_start_ = slow_start_ && calm;
  if (slow_start_) {
    set(bytes_ + std::min(acked_in_round_, bytes_));
  } else if (calm_rounds_ > kCalmRounds) {
    set(bytes_ + bytes_ / 4);
  } else {
    set(bytes_ + kIncreaseBytes);
  }
}

void Window::set(std::uint64_t bytes) {
  bytes_ = std::clamp(bytes, options_.min_bytes, options_.max_bytes);
}

}  // namespace zhinu::core

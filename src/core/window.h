// The congestion window of one flow (peer, class), in bytes.
//
// Follows the median queueing delay and the median share of ECN marks over the
// paths, so that one bad path of many does not collapse it (Swift, SIGCOMM 2020,
// section 3.1 for the delay target; MNSCC, arXiv 2509.07907, for the median).
// Loss alone does not shrink it: lost bytes are paced out again by the window
// itself; loss on the median path does. Integers only. Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "core/options.h"

namespace zhinu::core {

class Window {
 public:
  explicit Window(const WindowOptions& options);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t in_flight() const { return in_flight_; }
  // How many bytes may leave now.
  std::uint64_t room() const { return in_flight_ < bytes_ ? bytes_ - in_flight_ : 0; }

  void on_sent(std::uint64_t bytes) {
    in_flight_ += bytes;
    limited_ = limited_ || room() < kLimitedRoomBytes;
  }
  // `bytes` left the flight by acknowledgement. A round ends one RTT after it began;
  // then the medians given here move the window once.
  void on_acked(Instant now, std::uint64_t bytes, Duration rtt, Duration median_queue_delay,
                std::uint32_t median_marked_per_mille) {
    leave(bytes);
    acked_in_round_ += bytes;
    if (now >= round_end_) end_round(now, rtt, median_queue_delay, median_marked_per_mille);
  }
  void on_lost(std::uint64_t bytes) { leave(bytes); }
  // A path with this share of the weights died: the window shrinks by it. Its bytes
  // leave the flight by on_lost().
  void on_path_dead(std::uint32_t share_per_mille);
  // Loss on most paths at once: halve, at most once a round.
  void on_congestion(Instant now, Duration rtt);

 private:
  // With less room than a packet or two the flow has what the window allows. Only then
  // does a round without queueing tell that a larger window would do.
  static constexpr std::uint64_t kLimitedRoomBytes = 16 * 1024;

  void leave(std::uint64_t bytes) {
    ZHINU_ASSERT(bytes <= in_flight_);
    in_flight_ -= bytes;
  }
  void end_round(Instant now, Duration rtt, Duration queue_delay, std::uint32_t marked_per_mille);
  void grow(Duration queue_delay);
  void set(std::uint64_t bytes);

  WindowOptions options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t acked_in_round_ = 0;
  Instant round_end_;
  Instant cut_end_;                // on_congestion() halves again from here on
  std::uint32_t calm_rounds_ = 0;  // in a row, far below the target and limited by the window
  bool limited_ = false;           // in this round
  bool slow_start_ = true;         // until the first sign of a queue
};

}  // namespace zhinu::core

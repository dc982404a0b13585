// The congestion window of one flow (peer, class), in bytes.
//
// Follows the median queueing delay and the median share of ECN marks over the
// paths, so that one bad path of many does not collapse it (Swift, SIGCOMM 2020,
// section 3.1 for the delay target; MNSCC, arXiv 2509.07907, for the median).
// Loss alone does not shrink it: lost bytes are paced out again by the window
// itself; loss on the median path does. Thread rule: one owner at a time.
#pragma once

#include <cstdint>

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

  void on_sent(std::uint64_t bytes);
  // `bytes` left the flight by acknowledgement. A round ends one RTT after it began;
  // then the medians given here move the window once.
  void on_acked(Instant now, std::uint64_t bytes, Duration rtt, Duration median_queue_delay,
                std::uint32_t median_marked_per_mille);
  void on_lost(std::uint64_t bytes);
  // A path with this share of the weights died: the window shrinks by it.
  void on_path_dead(std::uint32_t share_per_mille);
  // Loss on most paths at once: halve, at most once a round.
  void on_congestion(Instant now, Duration rtt);

 private:
  WindowOptions options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t acked_in_round_ = 0;
  Instant round_end_;
};

}  // namespace zhinu::core

// The share of ECN marks on one path, per round trip.
//
// Thread rule: one owner at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace zhinu::core {

class MarkShare {
 public:
  // `packets` were acknowledged, `marked` of them with a mark. A round lasts `rtt`.
  void add(Instant now, std::uint32_t packets, std::uint32_t marked, Duration rtt) {
    packets_ = add_saturated(packets_, packets);
    marked_ = add_saturated(marked_, marked);
    if (now >= round_end_) end_round(now + rtt);
  }
  // Of the last round that ended.
  std::uint32_t per_mille() const { return per_mille_; }

 private:
  // 16 bits keep a path within its budget; a round is a few thousand packets at most.
  static std::uint16_t add_saturated(std::uint16_t sum, std::uint32_t more) {
    return static_cast<std::uint16_t>(std::min<std::uint64_t>(std::uint64_t{sum} + more, 0xffff));
  }
  void end_round(Instant next_end);

  Instant round_end_;
  std::uint16_t packets_ = 0;  // saturate
  std::uint16_t marked_ = 0;
  std::uint16_t per_mille_ = 0;
};

}  // namespace zhinu::core

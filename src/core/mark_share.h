// The share of ECN marks on one path, per round trip.
//
// Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace zhinu::core {

class MarkShare {
 public:
  // `packets` were acknowledged, `marked` of them with a mark. A round lasts `rtt`.
  void add(Instant now, std::uint32_t packets, std::uint32_t marked, Duration rtt) {
    packets_ += packets;
    marked_ += marked;
    if (now >= round_end_) end_round(now + rtt);
  }
  // Of the last round that ended.
  std::uint32_t per_mille() const { return per_mille_; }

 private:
  void end_round(Instant next_end);

  Instant round_end_;
  std::uint32_t packets_ = 0;
  std::uint32_t marked_ = 0;
  std::uint32_t per_mille_ = 0;
};

}  // namespace zhinu::core

// Everything a PathTable keeps of one path. Internal to path_table*.cc.
#pragma once

#include <bit>
#include <cstdint>

#include "core/mark_share.h"
#include "core/path_health.h"
#include "core/path_table.h"
#include "core/path_weight.h"
#include "core/rtt.h"

namespace zhinu::core {

struct PathTable::Path {
  PathConfig config;
  PathHealth health;
  PathWeight weight;
  RttEstimator rtt;
  MarkShare marks;
  std::uint32_t in_flight_bytes = 0;
  std::uint32_t skipped = 0;  // numbers left out on purpose
  std::uint32_t packets_lost = 0;
  std::uint32_t until_gap = 0;  // numbers to give out before one is skipped
  std::uint64_t next_number = 0;
  Instant last_acked_at;
  std::int32_t turn = 0;  // next_in_turn: how far behind its share of the turns
  PathState reported = PathState::kGood;
};

// Calls visit(index) for each bit of `mask`, lowest first.
template <class Visit>
void for_each_bit(std::uint64_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint8_t>(std::countr_zero(mask)));
}

// Inline: each call of the table begins here.
inline PathTable::Path& PathTable::at(std::uint8_t path) {
  ZHINU_ASSERT(path < count_);
  return paths_[path];
}

inline const PathTable::Path& PathTable::at(std::uint8_t path) const {
  ZHINU_ASSERT(path < count_);
  return paths_[path];
}

inline Duration PathTable::rtt_or_initial(const Path& path) const {
  const Duration rtt = path.rtt.smoothed();
  return rtt > Duration{} ? rtt : initial_rtt_;
}

inline PathHealth::View PathTable::view(std::uint8_t path) const {
  const Path& entry = at(path);
  const Duration rtt = rtt_or_initial(entry);
  return {.silence = std::max(4 * rtt, options_.suspicion_floor),
          .answer = std::max(2 * rtt, options_.probe_timeout_floor),
          .outstanding = entry.in_flight_bytes > 0,
          .other_usable = (usable_ & ~bit(path)) != 0,
          .any_good = good_ != 0};
}

}  // namespace zhinu::core

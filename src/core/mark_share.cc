#include "core/mark_share.h"

#include <algorithm>

namespace zhinu::core {

void MarkShare::end_round(Instant next_end) {
  if (packets_ == 0) return;  // marks wait for the packets that they belong to
  // The peer counts marks on packets that need no ACK as well: there may be more of them.
  const std::uint32_t marked = std::min(marked_, packets_);
  per_mille_ = static_cast<std::uint16_t>(marked * 1'000 / packets_);
  // A single mark among thousands must not vanish: the window asks whether there was any.
  if (marked != 0 && per_mille_ == 0) per_mille_ = 1;
  packets_ = 0;
  marked_ = 0;
  round_end_ = next_end;
}

}  // namespace zhinu::core

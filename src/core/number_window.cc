#include "core/number_window.h"

namespace zhinu::core {

void NumberWindow::advance_floor() {
  for (;;) {  // at most one turn of the ring: bits are cleared as the floor passes them
    std::uint64_t& word = bitmap_[floor_ / kWordBits % kWords];
    const auto bit = static_cast<std::uint32_t>(floor_ % kWordBits);
    const auto run = static_cast<std::uint32_t>(std::countr_one(word >> bit));
    // The shift brought `bit` zeros in from above, so the run ends inside the word.
    ZHINU_ASSERT(bit + run <= kWordBits);
    if (run == 0) break;
    ahead_ -= run;
    word &= ~((~0ULL >> (kWordBits - run)) << bit);
    floor_ += run;
    if (bit + run < kWordBits) break;
  }
}

}  // namespace zhinu::core

#include "core/in_path.h"

#include <algorithm>
#include <bit>

namespace zhinu::core {

void InPath::force_ack(Instant now) {
  if (seen_any_) owe_ack(now, 0, true);
}

// Slides the window up to `number`: what leaves it and did not arrive ends the run below.
void InPath::make_place(std::uint64_t number) {
  if (seen_any_ && number <= largest_) return;
  std::uint64_t next = expected_number();
  if (number - next >= kWindowPackets) {
    bitmap_.fill(0);
    run_first_ = number - kWindowPackets + 1;
    return;
  }
  while (next <= number) {
    const std::uint64_t bit = next % kWordBits;
    const std::uint64_t count = std::min(number - next + 1, kWordBits - bit);
    const std::uint64_t mask = (~0ULL >> (kWordBits - count)) << bit;
    std::uint64_t& word = bitmap_[next / kWordBits % kWords];
    const std::uint64_t missing = ~word & mask;
    if (missing != 0 && next >= kWindowPackets) {
      const auto top = kWordBits - 1 - static_cast<std::uint64_t>(std::countl_zero(missing));
      run_first_ = next - bit + top - kWindowPackets + 1;
    }
    word &= ~mask;
    next += count;
  }
}

std::uint32_t InPath::ranges(std::span<wire::AckRange> out) const {
  ZHINU_ASSERT(!out.empty());
  if (!seen_any_) return 0;
  const std::uint64_t stop = bottom();
  std::uint64_t last = largest_;
  std::uint32_t count = 0;
  while (count < out.size()) {
    std::uint64_t first = run_start(last, stop, true);
    ZHINU_ASSERT(first <= last);
    if (first == stop) first = run_first_;
    if (last - first >= kRangePacketsMax) first = last - kRangePacketsMax + 1;
    out[count++] = {.first = first, .last = last};
    if (first <= stop) break;
    const std::uint64_t gap = run_start(first - 1, stop, false);
    if (gap == stop) break;
    last = gap - 1;
  }
  return count;
}

// The lowest number of the run of equal bits that ends at `number`, not below `stop`.
std::uint64_t InPath::run_start(std::uint64_t number, std::uint64_t stop, bool value) const {
  for (;;) {
    const std::uint64_t word = bitmap_[number / kWordBits % kWords];
    const std::uint64_t bit = number % kWordBits;
    const auto run = static_cast<std::uint64_t>(
        std::countl_one((value ? word : ~word) << (kWordBits - 1 - bit)));
    // The shift brought zeros in from below, so the run ends inside the word.
    if (run <= bit) return std::max(number + 1 - run, stop);
    if (number - bit <= stop) return stop;
    number -= run;
  }
}

}  // namespace zhinu::core

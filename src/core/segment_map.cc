#include "core/segment_map.h"

#include <algorithm>
#include <bit>

namespace zhinu::core {

SegmentMap::SegmentMap(std::span<std::uint64_t> words, std::uint64_t message_bytes)
    : words_(words), message_bytes_(message_bytes) {
  ZHINU_ASSERT(std::has_single_bit(words.size()) || (words.empty() && message_bytes == 0));
  ZHINU_ASSERT(std::all_of(words.begin(), words.end(), [](auto word) { return word == 0; }));
}

std::uint64_t SegmentMap::find(std::uint64_t first, std::uint64_t end, bool bit) const {
  const std::uint64_t mask = words_.size() - 1;
  while (first < end) {
    const std::uint64_t word = words_[first / kWordBits & mask];
    const std::uint64_t hits = (bit ? word : ~word) >> (first % kWordBits);
    if (hits != 0) {
      return std::min(end, first + static_cast<std::uint64_t>(std::countr_zero(hits)));
    }
    first = (first / kWordBits + 1) * kWordBits;
  }
  return end;
}

void SegmentMap::set(std::uint64_t first, std::uint64_t end) {
  ZHINU_ASSERT(first < end);
  const std::uint64_t mask = words_.size() - 1;
  while (first < end) {
    const std::uint64_t bit = first % kWordBits;
    const std::uint64_t count = std::min(end - first, kWordBits - bit);
    words_[first / kWordBits & mask] |= (~0ULL >> (kWordBits - count)) << bit;
    first += count;
  }
}

void SegmentMap::advance_contiguous() {
  const std::uint64_t mask = words_.size() - 1;
  const std::uint64_t unit_end = units_in(message_bytes_);
  std::uint64_t unit = contiguous_ / kUnit;
  while (unit < unit_end) {
    std::uint64_t& word = words_[unit / kWordBits & mask];
    const std::uint64_t bit = unit % kWordBits;
    const auto run = static_cast<std::uint64_t>(std::countr_one(word >> bit));
    if (run == 0) break;
    word &= ~((~0ULL >> (kWordBits - run)) << bit);
    unit += run;
    if (bit + run < kWordBits) break;
  }
  contiguous_ = unit == unit_end ? message_bytes_ : unit * kUnit;
  ZHINU_ASSERT(contiguous_ <= delivered_);
}

}  // namespace zhinu::core

// Which parts of one large message have arrived: a sliding bitmap of 128-byte units.
//
// A segment is deduplicated here before its bytes are copied, and bytes once
// delivered are never written again (design decision 4). Memory for the bitmap
// comes from the caller (a pool), so marking never allocates.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/result.h"
#include "wire/packet.h"

namespace zhinu::core {

class SegmentMap {
 public:
  SegmentMap() = default;
  // `words` holds span_bytes / 128 / 64 zeroed words, a power of two, and outlives the map;
  // it is zero again when the message is complete. Only an empty message needs none.
  SegmentMap(std::span<std::uint64_t> words, std::uint64_t message_bytes);

  std::uint64_t message_bytes() const { return message_bytes_; }
  // All bytes below were delivered. A multiple of 128, or the end of the message.
  std::uint64_t contiguous() const { return contiguous_; }
  std::uint64_t delivered() const { return delivered_; }
  bool complete() const { return delivered_ == message_bytes_; }
  // Offsets at and above cannot be taken yet. May lie beyond the end of the message.
  std::uint64_t limit() const {
    const std::uint64_t from = contiguous_ / kUnit * kUnit;
    const std::uint64_t span = words_.size() * kWordBits * kUnit;
    return span <= ~from ? from + span : ~0ULL;
  }

  // ok, kBadLength (beyond the message, not a multiple of 128 and not the end, empty),
  // kFull (beyond limit()). Changes nothing.
  Status check(std::uint64_t offset, std::uint64_t length) const {
    if (length == 0 || offset % kUnit != 0) return Errc::kBadLength;
    if (offset > message_bytes_ || length > message_bytes_ - offset) return Errc::kBadLength;
    const std::uint64_t end = offset + length;
    if (length % kUnit != 0 && end != message_bytes_) return Errc::kBadLength;
    if (end > limit()) return Errc::kFull;
    return {};
  }
  // Calls copy(offset, length) for each maximal part that is new and marks it.
  // Returns the new bytes; 0 = a duplicate. Call only after check() was ok.
  template <class Copy>
  std::uint64_t take(std::uint64_t offset, std::uint64_t length, Copy copy);

 private:
  friend struct SegmentMapStart;  // lets a test begin at offsets that it cannot reach by taking

  static constexpr std::uint64_t kUnit = wire::kSegmentUnitBytes;
  static constexpr std::uint64_t kWordBits = 64;

  static std::uint64_t units_in(std::uint64_t bytes) {
    return bytes / kUnit + (bytes % kUnit != 0 ? 1 : 0);
  }
  // The first unit of [first, end) whose bit equals `bit`; `end` if there is none.
  std::uint64_t find(std::uint64_t first, std::uint64_t end, bool bit) const;
  void set(std::uint64_t first, std::uint64_t end);
  void advance_contiguous();

  std::span<std::uint64_t> words_;  // ring: unit n has bit n % (64 * words)
  std::uint64_t message_bytes_ = 0;
  std::uint64_t contiguous_ = 0;
  std::uint64_t delivered_ = 0;
};

template <class Copy>
std::uint64_t SegmentMap::take(std::uint64_t offset, std::uint64_t length, Copy copy) {
  ZHINU_ASSERT(check(offset, length).ok());
  const std::uint64_t end = offset + length;
  if (end <= contiguous_) return 0;

  std::uint64_t new_bytes = 0;
  const std::uint64_t unit_end = units_in(end);
  std::uint64_t unit = (offset < contiguous_ ? contiguous_ : offset) / kUnit;
  for (;;) {  // one turn for each gap that the segment fills
    unit = find(unit, unit_end, false);
    if (unit == unit_end) break;
    const std::uint64_t stop = find(unit, unit_end, true);
    const std::uint64_t from = unit * kUnit;
    const std::uint64_t part = (stop == unit_end ? end : stop * kUnit) - from;
    set(unit, stop);
    copy(from, part);
    new_bytes += part;
    unit = stop;
  }
  delivered_ += new_bytes;
  ZHINU_ASSERT(delivered_ <= message_bytes_);
  if (new_bytes != 0) advance_contiguous();
  return new_bytes;
}

}  // namespace zhinu::core

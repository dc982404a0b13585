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
  // `words` holds span_bytes / 128 / 64 zeroed words, a power of two, and outlives the map.
  SegmentMap(std::span<std::uint64_t> words, std::uint64_t message_bytes);

  std::uint64_t message_bytes() const { return message_bytes_; }
  // All bytes below were delivered.
  std::uint64_t contiguous() const { return contiguous_; }
  std::uint64_t delivered() const { return delivered_; }
  bool complete() const { return delivered_ == message_bytes_; }
  // Offsets at and above cannot be taken yet.
  std::uint64_t limit() const;

  // ok, kBadLength (beyond the message, not a multiple of 128 and not the end, empty),
  // kFull (beyond limit()). Changes nothing.
  Status check(std::uint64_t offset, std::uint64_t length) const;
  // Calls copy(offset, length) for each maximal part that is new and marks it.
  // Returns the new bytes; 0 = a duplicate. Call only after check() was ok.
  template <class Copy>
  std::uint64_t take(std::uint64_t offset, std::uint64_t length, Copy copy);

 private:
  std::span<std::uint64_t> words_;
  std::uint64_t message_bytes_ = 0;
  std::uint64_t contiguous_ = 0;
  std::uint64_t delivered_ = 0;
};

}  // namespace zhinu::core

// Memory that peers may read or write by key. Keys are random 64-bit values from
// the caller's entropy, never 0, and revocable. Ownership: the memory stays its owner's,
// who keeps it until remove() has returned. Thread rule: one owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "core/entropy.h"
#include "core/types.h"

namespace zhinu::core {

class RegionTable {
 public:
  explicit RegionTable(std::uint32_t regions_max);

  Result<RegionKey> add(MutableByteSpan memory, RegionAccess access, Entropy& entropy);  // kFull
  Status remove(RegionKey key);  // kUnknownRegion
  // The bytes [offset, offset + length) if key, range (no overflow) and access allow it;
  // kRegionRefused otherwise, without telling which. Zero length is legal.
  Result<MutableByteSpan> find_for_write(RegionKey key, std::uint64_t offset,
                                         std::uint64_t length) const;
  Result<ByteSpan> find_for_read(RegionKey key, std::uint64_t offset, std::uint64_t length) const;
  std::uint32_t size() const { return count_; }
  std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Region); }

 private:
  struct Region {
    RegionKey key;  // 0: the slot is free
    MutableByteSpan memory;
    RegionAccess access;
  };

  std::size_t home(RegionKey key) const { return key.value & (slots_.size() - 1); }
  std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  // The slot that holds `key`, or the free one where it would go.
  std::size_t slot_of(RegionKey key) const;

  std::vector<Region> slots_;  // open addressing, power of two, allocated once
  std::uint32_t regions_max_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace zhinu::core

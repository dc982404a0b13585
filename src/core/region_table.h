// Memory that peers may read or write by key. Keys are random 64-bit values from
// the caller's entropy, never 0, and revocable.
#pragma once

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

  Result<RegionKey> add(MutableByteSpan memory, RegionAccess access, Entropy& entropy);
  Status remove(RegionKey key);  // kUnknownRegion
  // The bytes [offset, offset + length) if key, range (no overflow) and access allow it;
  // kRegionRefused otherwise, without telling which. Zero length is legal.
  Result<MutableByteSpan> find_for_write(RegionKey key, std::uint64_t offset,
                                         std::uint64_t length) const;
  Result<ByteSpan> find_for_read(RegionKey key, std::uint64_t offset, std::uint64_t length) const;
  std::uint32_t size() const { return count_; }

 private:
  struct Region {
    RegionKey key;
    MutableByteSpan memory;
    RegionAccess access;
  };
  std::vector<Region> slots_;  // open addressing, power of two, allocated once
  std::uint32_t regions_max_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace zhinu::core

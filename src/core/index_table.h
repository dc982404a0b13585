// A fixed hash table from a 64-bit key to a 32-bit slot index.
//
// Open addressing with linear probing and deletion by shifting back, so there
// are no tombstones (Knuth, TAOCP 6.4, algorithm R). Allocates once. The owner
// bounds the entries to the capacity given. Thread rule: one owner at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/prng.h"

namespace zhinu::core {

class IndexTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  explicit IndexTable(std::uint32_t entries_max)
      : mask_(std::bit_ceil(entries_max * 2 + 2) - 1),
        entries_max_(entries_max),
        cells_(std::make_unique<Cell[]>(mask_ + 1)) {}

  std::uint32_t find(std::uint64_t key) const {
    for (std::uint32_t i = home(key);; i = (i + 1) & mask_) {
      const Cell& cell = cells_[i];
      if (cell.value == kNone) return kNone;
      if (cell.key == key) return cell.value;
    }
  }

  // The key must not be in the table yet.
  void insert(std::uint64_t key, std::uint32_t value) {
    ZHINU_ASSERT(size_ < entries_max_);
    ZHINU_ASSERT(value != kNone);
    std::uint32_t i = home(key);
    while (cells_[i].value != kNone) {
      ZHINU_ASSERT(cells_[i].key != key);
      i = (i + 1) & mask_;
    }
    cells_[i] = {key, value};
    ++size_;
  }

  // Points an existing key at another slot.
  void update(std::uint64_t key, std::uint32_t value) {
    ZHINU_ASSERT(value != kNone);
    std::uint32_t i = home(key);
    while (cells_[i].key != key || cells_[i].value == kNone) {
      ZHINU_ASSERT(cells_[i].value != kNone);
      i = (i + 1) & mask_;
    }
    cells_[i].value = value;
  }

  // No-op when the key is not there.
  void erase(std::uint64_t key) {
    std::uint32_t hole = home(key);
    while (cells_[hole].value == kNone || cells_[hole].key != key) {
      if (cells_[hole].value == kNone) return;
      hole = (hole + 1) & mask_;
    }
    for (std::uint32_t i = (hole + 1) & mask_; cells_[i].value != kNone; i = (i + 1) & mask_) {
      // A cell may move back into the hole unless its home lies after the hole.
      if (((i - home(cells_[i].key)) & mask_) >= ((i - hole) & mask_)) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole].value = kNone;
    --size_;
  }

  std::uint32_t size() const { return size_; }
  std::uint32_t entries_max() const { return entries_max_; }
  std::size_t memory_bytes() const { return (std::size_t{mask_} + 1) * sizeof(Cell); }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };
  std::uint32_t home(std::uint64_t key) const {
    return static_cast<std::uint32_t>(mix64(key) >> 32) & mask_;
  }

  std::uint32_t mask_ = 0;
  std::uint32_t entries_max_ = 0;
  std::uint32_t size_ = 0;
  std::unique_ptr<Cell[]> cells_;
};

}  // namespace zhinu::core

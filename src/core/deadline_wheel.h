// Deadlines of posted items: a hashed wheel with constant-time insert and removal.
//
// Entries live in an array sized at construction, one per slot of the pool that they
// belong to, hashed by the tick (1 ms) of their deadline (Varghese and Lauck, SOSP 1987,
// scheme 6). Each bucket remembers a lower bound of its deadlines: an item never expires
// early, is never late, and the owner is not woken for buckets that are not due.
// Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/time.h"

namespace zhinu::core {

class DeadlineWheel {
 public:
  static constexpr Duration kTick = milliseconds(1);
  static constexpr std::uint32_t kBuckets = 256;

  explicit DeadlineWheel(std::uint32_t entries);

  // Entry ids are 0 .. entries-1. An entry is in the wheel at most once. A deadline of
  // never() is legal and leaves the entry out of the wheel.
  void insert(std::uint32_t entry, Instant deadline);
  void remove(std::uint32_t entry);  // no-op when it is not in the wheel
  bool contains(std::uint32_t entry) const { return at(entry).list != kNoList; }
  // Not later than the earliest deadline; never() when empty. Earlier only before
  // pop_expired() has returned kNone, or if the entry that was due first was removed:
  // pop_expired() then finds nothing and looks for the next. Constant time.
  Instant next() const { return next_; }
  // Removes and returns one entry whose deadline is not after `now`; kNone if there is none.
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t pop_expired(Instant now) { return now < next_ ? kNone : pop_due(now); }
  std::size_t memory_bytes() const { return entry_count_ * sizeof(Entry); }

 private:
  static constexpr std::uint16_t kExpiredList = kBuckets;
  static constexpr std::uint16_t kNoList = kBuckets + 1;

  struct Entry {
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;
    Instant deadline = Instant::never();
    std::uint16_t list = kNoList;  // bucket, kExpiredList or kNoList
  };

  Entry& at(std::uint32_t entry) {
    ZHINU_ASSERT(entry < entry_count_);
    return entries_[entry];
  }
  const Entry& at(std::uint32_t entry) const {
    ZHINU_ASSERT(entry < entry_count_);
    return entries_[entry];
  }
  void link(std::uint32_t entry, std::uint16_t list);
  void unlink(std::uint32_t entry);
  std::uint32_t pop_due(Instant now);
  void collect(Instant now);

  std::unique_ptr<Entry[]> entries_;
  std::uint32_t entry_count_ = 0;
  std::uint32_t size_ = 0;
  Instant next_ = Instant::never();
  std::array<std::uint32_t, kBuckets + 1> heads_;  // the last one: collected, to be popped
  std::array<Instant, kBuckets> earliest_;         // lower bound of the bucket's deadlines
};

}  // namespace zhinu::core

// Deadlines of posted items: a hashed wheel with constant-time insert and removal.
//
// Granularity is one tick (1 ms); an item never expires early and at most one
// tick late. Entries live in an array sized at construction, one per slot of the
// pool that they belong to. (Varghese and Lauck, SOSP 1987, scheme 6.)
#pragma once

#include <cstdint>
#include <memory>

#include "base/time.h"

namespace zhinu::core {

class DeadlineWheel {
 public:
  static constexpr Duration kTick = milliseconds(1);
  static constexpr std::uint32_t kBuckets = 256;

  explicit DeadlineWheel(std::uint32_t entries);

  // Entry ids are 0 .. entries-1. An entry is in the wheel at most once.
  void insert(std::uint32_t entry, Instant deadline);
  void remove(std::uint32_t entry);  // no-op when it is not in the wheel
  bool contains(std::uint32_t entry) const;
  // Not later than the earliest deadline (may be earlier by the distance of one
  // bucket turn); never() when empty. Constant time.
  Instant next() const;
  // Removes and returns one entry whose deadline is not after `now`; kNone if there is none.
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t pop_expired(Instant now);

 private:
  struct Entry {
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;
    Instant deadline = Instant::never();
    bool queued = false;
  };
  std::unique_ptr<Entry[]> entries_;
  // further members are the implementer's choice
};

}  // namespace zhinu::core

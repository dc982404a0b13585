#include "core/deadline_wheel.h"

#include <algorithm>

namespace zhinu::core {

DeadlineWheel::DeadlineWheel(std::uint32_t entries)
    : entries_(std::make_unique<Entry[]>(entries)), entry_count_(entries) {
  heads_.fill(kNone);
  earliest_.fill(Instant::never());
}

void DeadlineWheel::insert(std::uint32_t entry, Instant deadline) {
  ZHINU_ASSERT(!contains(entry));
  if (deadline == Instant::never()) return;
  at(entry).deadline = deadline;
  const auto tick = static_cast<std::uint64_t>(deadline.ns / kTick.ns);
  const auto bucket = static_cast<std::uint16_t>(tick % kBuckets);
  link(entry, bucket);
  earliest_[bucket] = std::min(earliest_[bucket], deadline);
  next_ = std::min(next_, deadline);
  ++size_;
}

void DeadlineWheel::remove(std::uint32_t entry) {
  if (!contains(entry)) return;
  unlink(entry);
  --size_;
  if (size_ == 0) next_ = Instant::never();
}

void DeadlineWheel::link(std::uint32_t entry, std::uint16_t list) {
  Entry& slot = at(entry);
  slot.list = list;
  slot.previous = kNone;
  slot.next = heads_[list];
  if (slot.next != kNone) at(slot.next).previous = entry;
  heads_[list] = entry;
}

void DeadlineWheel::unlink(std::uint32_t entry) {
  Entry& slot = at(entry);
  if (slot.previous != kNone) {
    at(slot.previous).next = slot.next;
  } else {
    ZHINU_ASSERT(heads_[slot.list] == entry);
    heads_[slot.list] = slot.next;
  }
  if (slot.next != kNone) at(slot.next).previous = slot.previous;
  if (slot.list < kBuckets && heads_[slot.list] == kNone) earliest_[slot.list] = Instant::never();
  slot.list = kNoList;
}

std::uint32_t DeadlineWheel::pop_due(Instant now) {
  if (heads_[kExpiredList] == kNone) collect(now);
  const std::uint32_t entry = heads_[kExpiredList];
  if (entry != kNone) remove(entry);
  return entry;
}

// Moves everything that is due to the list of the expired, so that a long bucket is
// walked once and not once for each entry that expires.
void DeadlineWheel::collect(Instant now) {
  next_ = Instant::never();
  for (std::uint16_t bucket = 0; bucket < kBuckets; ++bucket) {
    Instant& earliest = earliest_[bucket];
    if (earliest <= now) {
      earliest = Instant::never();
      for (std::uint32_t entry = heads_[bucket]; entry != kNone;) {
        const std::uint32_t following = at(entry).next;
        if (at(entry).deadline <= now) {
          unlink(entry);
          link(entry, kExpiredList);
        } else {
          earliest = std::min(earliest, at(entry).deadline);
        }
        entry = following;
      }
    }
    next_ = std::min(next_, earliest);
  }
  if (heads_[kExpiredList] != kNone) next_ = now;  // until the last one was popped
}

}  // namespace zhinu::core

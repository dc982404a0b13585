// The future of a run: plain events in the order (time, sequence).
//
// A four-ary heap of 32-byte values: no allocation per event once it has grown, no
// callback objects, and ties are broken by the order of pushing, never by address.
// Thread rule: one owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace zhinu::sim {

// What an event means is decided by whoever pops it.
struct Event {
  Instant at;
  std::uint64_t sequence = 0;
  std::uint32_t kind = 0;
  std::uint32_t entity = 0;
  std::uint64_t value = 0;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // When the next event happens; never() without one.
  Instant next_at() const { return heap_.empty() ? Instant::never() : heap_.front().at; }

  void push(Instant at, std::uint32_t kind, std::uint32_t entity, std::uint64_t value) {
    const Event event{at, sequence_++, kind, entity, value};
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kFanOut;
      if (!before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  Event pop() {
    ZHINU_ASSERT(!heap_.empty());
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t kFanOut = 4;  // children of a node share two cache lines

  static bool before(const Event& a, const Event& b) {
    return a.at.ns != b.at.ns ? a.at.ns < b.at.ns : a.sequence < b.sequence;
  }

  // Puts `event` where the first one was and restores the order below it.
  void sink(const Event& event) {
    const std::size_t count = heap_.size();
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = hole * kFanOut + 1;
      if (first >= count) break;
      const std::size_t end = first + kFanOut < count ? first + kFanOut : count;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace zhinu::sim

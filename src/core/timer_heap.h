// Next instant per owner: an indexed binary heap with change of key.
//
// Owners are indices below the capacity given; memory is allocated at
// construction and in grow() only. Logarithmic set, constant-time look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace zhinu::core {

class TimerHeap {
 public:
  // Makes room for owners 0 .. owners-1; new ones have no timer.
  void grow(std::uint32_t owners) {
    ZHINU_ASSERT(owners >= position_.size());
    position_.resize(owners, kAbsent);
    heap_.reserve(owners);
  }

  // never() removes the timer.
  void set(std::uint32_t owner, Instant at) {
    ZHINU_ASSERT(owner < position_.size());
    std::uint32_t i = position_[owner];
    if (i == kAbsent) {
      if (at == Instant::never()) return;
      i = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({at, owner});
      position_[owner] = i;
      sift_up(i);
      return;
    }
    if (at == Instant::never()) {
      remove_at(i);
      return;
    }
    const Instant before = heap_[i].at;
    heap_[i].at = at;
    if (at < before) {
      sift_up(i);
    } else {
      sift_down(i);
    }
  }

  std::size_t memory_bytes() const {
    return heap_.capacity() * sizeof(Node) + position_.capacity() * sizeof(std::uint32_t);
  }
  Instant of(std::uint32_t owner) const {
    ZHINU_ASSERT(owner < position_.size());
    return position_[owner] == kAbsent ? Instant::never() : heap_[position_[owner]].at;
  }
  Instant earliest() const { return heap_.empty() ? Instant::never() : heap_.front().at; }
  // Only when earliest() is not never(). Ties go to the lower owner: runs replay.
  std::uint32_t earliest_owner() const {
    ZHINU_ASSERT(!heap_.empty());
    return heap_.front().owner;
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffffU;
  struct Node {
    Instant at;
    std::uint32_t owner = 0;
    friend bool operator<(const Node& a, const Node& b) {
      return a.at != b.at ? a.at < b.at : a.owner < b.owner;
    }
  };

  void swap_nodes(std::uint32_t i, std::uint32_t j) {
    std::swap(heap_[i], heap_[j]);
    position_[heap_[i].owner] = i;
    position_[heap_[j].owner] = j;
  }
  void sift_up(std::uint32_t i) {
    while (i > 0 && heap_[i] < heap_[(i - 1) / 2]) {
      swap_nodes(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sift_down(std::uint32_t i) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
      std::uint32_t least = i;
      for (const std::uint32_t child : {2 * i + 1, 2 * i + 2}) {
        if (child < size && heap_[child] < heap_[least]) least = child;
      }
      if (least == i) return;
      swap_nodes(i, least);
      i = least;
    }
  }
  void remove_at(std::uint32_t i) {
    const auto last = static_cast<std::uint32_t>(heap_.size()) - 1;
    position_[heap_[i].owner] = kAbsent;
    if (i != last) {
      heap_[i] = heap_[last];
      position_[heap_[i].owner] = i;
      heap_.pop_back();
      sift_up(i);
      sift_down(i);
    } else {
      heap_.pop_back();
    }
  }

  std::vector<Node> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace zhinu::core

// Lists of pool slots linked by index: the links live in the slots.
//
// A slot is in at most one list per pair of link members. Operations are constant
// time and never allocate. Thread rule: the pool's owner.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/slot_pool.h"

namespace zhinu::core {

// First in, first out; singly linked through the member `kNext`.
template <class T, auto kNext>
struct SlotQueue {
  std::uint32_t head = kNoSlot;
  std::uint32_t tail = kNoSlot;

  bool empty() const { return head == kNoSlot; }

  void push_back(SlotPool<T>& pool, std::uint32_t slot) { push_back(pool, slot, pool[slot]); }
  // `item` is pool[slot], where the caller has it at hand.
  void push_back(SlotPool<T>& pool, std::uint32_t slot, T& item) {
    item.*kNext = kNoSlot;
    if (tail == kNoSlot) {
      head = slot;
    } else {
      pool[tail].*kNext = slot;
    }
    tail = slot;
  }

  std::uint32_t pop_front(SlotPool<T>& pool) {
    ZHINU_ASSERT(head != kNoSlot);
    const std::uint32_t slot = head;
    take_front(pool[slot]);
    return slot;
  }
  // Takes out the first; `item` is pool[head].
  void take_front(T& item) {
    ZHINU_ASSERT(head != kNoSlot);
    head = item.*kNext;
    if (head == kNoSlot) tail = kNoSlot;
    item.*kNext = kNoSlot;
  }

  // Behind `predecessor`, or in front for kNoSlot.
  void insert_after(SlotPool<T>& pool, std::uint32_t predecessor, std::uint32_t slot) {
    if (predecessor == kNoSlot) {
      pool[slot].*kNext = head;
      head = slot;
      if (tail == kNoSlot) tail = slot;
      return;
    }
    pool[slot].*kNext = pool[predecessor].*kNext;
    pool[predecessor].*kNext = slot;
    if (tail == predecessor) tail = slot;
  }

  // Takes out the slot behind `predecessor`, or the first for kNoSlot.
  void remove_after(SlotPool<T>& pool, std::uint32_t predecessor) {
    if (predecessor == kNoSlot) {
      pop_front(pool);
      return;
    }
    const std::uint32_t slot = pool[predecessor].*kNext;
    ZHINU_ASSERT(slot != kNoSlot);
    pool[predecessor].*kNext = pool[slot].*kNext;
    if (tail == slot) tail = predecessor;
    pool[slot].*kNext = kNoSlot;
  }

  void append(SlotPool<T>& pool, SlotQueue& other) {
    if (other.empty()) return;
    if (empty()) {
      head = other.head;
    } else {
      pool[tail].*kNext = other.head;
    }
    tail = other.tail;
    other = {};
  }
};

// Doubly linked, so that any slot can leave; through `kNext` and `kPrevious`.
template <class T, auto kNext, auto kPrevious>
struct SlotList {
  std::uint32_t head = kNoSlot;
  std::uint32_t tail = kNoSlot;

  bool empty() const { return head == kNoSlot; }

  void push_back(SlotPool<T>& pool, std::uint32_t slot) { push_back(pool, slot, pool[slot]); }
  // `item` is pool[slot], where the caller has it at hand.
  void push_back(SlotPool<T>& pool, std::uint32_t slot, T& item) {
    item.*kNext = kNoSlot;
    item.*kPrevious = tail;
    if (tail == kNoSlot) {
      head = slot;
    } else {
      pool[tail].*kNext = slot;
    }
    tail = slot;
  }

  // Before `successor`, or at the end for kNoSlot.
  void insert_before(SlotPool<T>& pool, std::uint32_t slot, std::uint32_t successor) {
    if (successor == kNoSlot) return push_back(pool, slot);
    T& item = pool[slot];
    const std::uint32_t before = pool[successor].*kPrevious;
    item.*kNext = successor;
    item.*kPrevious = before;
    if (before == kNoSlot) {
      head = slot;
    } else {
      pool[before].*kNext = slot;
    }
    pool[successor].*kPrevious = slot;
  }

  void remove(SlotPool<T>& pool, std::uint32_t slot) { remove(pool, slot, pool[slot]); }
  void remove(SlotPool<T>& pool, std::uint32_t slot, T& item) {
    const std::uint32_t before = item.*kPrevious;
    const std::uint32_t after = item.*kNext;
    if (before == kNoSlot) {
      ZHINU_ASSERT(head == slot);
      head = after;
    } else {
      pool[before].*kNext = after;
    }
    if (after == kNoSlot) {
      ZHINU_ASSERT(tail == slot);
      tail = before;
    } else {
      pool[after].*kPrevious = before;
    }
    item.*kNext = kNoSlot;
    item.*kPrevious = kNoSlot;
  }

  std::uint32_t pop_front(SlotPool<T>& pool) {
    ZHINU_ASSERT(head != kNoSlot);
    const std::uint32_t slot = head;
    remove(pool, slot);
    return slot;
  }
};

}  // namespace zhinu::core

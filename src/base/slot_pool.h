// A fixed pool of objects addressed by index, with a free list inside.
//
// Capacity is set at construction, which allocates once; acquire and release
// never allocate. A slot has a generation that changes at each release, so that
// a handle kept too long is recognised. Ownership: the pool owns every T; T is
// reset by assignment of T{} in acquire(). Thread rule: one owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"

namespace zhinu {

inline constexpr std::uint32_t kNoSlot = 0xffffffffU;

// T must be default-constructible and hold two members for the pool:
// `std::uint32_t next` (free link while free, the owner's while in use) and
// `std::uint32_t generation`.
template <class T>
class SlotPool {
 public:
  explicit SlotPool(std::uint32_t capacity)
      : slots_(std::make_unique<T[]>(capacity)), capacity_(capacity) {
    for (std::uint32_t i = 0; i < capacity; ++i)
      slots_[i].next = i + 1 < capacity ? i + 1 : kNoSlot;
    free_head_ = capacity > 0 ? 0 : kNoSlot;
    available_ = capacity;
  }

  // The index of a fresh slot, or kNoSlot when the pool is full.
  std::uint32_t acquire() {
    if (free_head_ == kNoSlot) return kNoSlot;
    const std::uint32_t index = free_head_;
    T& slot = slots_[index];
    free_head_ = slot.next;
    const std::uint32_t generation = slot.generation;
    slot = T{};
    slot.generation = generation;
    slot.next = kNoSlot;
    --available_;
    return index;
  }

  // Like acquire, but leaves the members as the last owner left them (only
  // `next` is reset): for hot slots whose owner sets every member itself.
  std::uint32_t acquire_raw() {
    std::uint32_t index = kNoSlot;
    static_cast<void>(acquire_raw(index));
    return index;
  }
  // The same for an owner that wants the object at once. Null, and `index` as it was, when full.
  T* acquire_raw(std::uint32_t& index) {
    if (free_head_ == kNoSlot) return nullptr;
    index = free_head_;
    T& slot = slots_[index];
    free_head_ = slot.next;
    slot.next = kNoSlot;
    --available_;
    return &slot;
  }

  void release(std::uint32_t index) {
    ZHINU_ASSERT(index < capacity_);
    release(index, slots_[index]);
  }
  // `slot` is that of the index, where the caller has it at hand.
  void release(std::uint32_t index, T& slot) {
    ZHINU_ASSERT(available_ < capacity_);
    ++slot.generation;
    slot.next = free_head_;
    free_head_ = index;
    ++available_;
  }

  T& operator[](std::uint32_t index) {
    ZHINU_ASSERT(index < capacity_);
    return slots_[index];
  }
  const T& operator[](std::uint32_t index) const {
    ZHINU_ASSERT(index < capacity_);
    return slots_[index];
  }

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t used() const { return capacity_ - available_; }
  std::uint32_t available() const { return available_; }
  std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

 private:
  std::unique_ptr<T[]> slots_;
  std::uint32_t capacity_ = 0;
  std::uint32_t available_ = 0;
  std::uint32_t free_head_ = kNoSlot;
};

}  // namespace zhinu

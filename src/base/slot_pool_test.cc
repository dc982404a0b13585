#include "base/slot_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/prng.h"

namespace zhinu {
namespace {

struct Slot {
  std::uint32_t next = 0;
  std::uint32_t generation = 0;
  int value = 7;
};

TEST(SlotPool, constructor__all_slots_are_free) {
  const SlotPool<Slot> pool(4);
  EXPECT_EQ(pool.capacity(), 4U);
  EXPECT_EQ(pool.used(), 0U);
  EXPECT_EQ(pool.available(), 4U);
}

TEST(SlotPool, constructor__no_capacity) {
  SlotPool<Slot> pool(0);
  EXPECT_EQ(pool.capacity(), 0U);
  EXPECT_EQ(pool.acquire(), kNoSlot);
  EXPECT_EQ(pool.acquire_raw(), kNoSlot);
}

TEST(SlotPool, acquire__lowest_index_first) {
  SlotPool<Slot> pool(3);
  EXPECT_EQ(pool.acquire(), 0U);
  EXPECT_EQ(pool.acquire(), 1U);
  EXPECT_EQ(pool.acquire(), 2U);
}

TEST(SlotPool, acquire__full) {
  SlotPool<Slot> pool(2);
  pool.acquire();
  pool.acquire();
  EXPECT_EQ(pool.acquire(), kNoSlot);
  EXPECT_EQ(pool.acquire_raw(), kNoSlot);
  EXPECT_EQ(pool.used(), 2U);
  EXPECT_EQ(pool.available(), 0U);
}

TEST(SlotPool, acquire__a_released_slot_makes_room_when_full) {
  SlotPool<Slot> pool(2);
  pool.acquire();
  const std::uint32_t index = pool.acquire();
  pool.release(index);
  EXPECT_EQ(pool.acquire(), index);
  EXPECT_EQ(pool.acquire(), kNoSlot);
}

TEST(SlotPool, acquire__the_slot_is_fresh) {
  SlotPool<Slot> pool(1);
  pool[pool.acquire()].value = 99;
  pool.release(0);
  EXPECT_EQ(pool.acquire(), 0U);
  EXPECT_EQ(pool[0].value, 7);
  EXPECT_EQ(pool[0].next, kNoSlot);
}

TEST(SlotPool, acquire_raw__the_slot_is_as_it_was_left) {
  SlotPool<Slot> pool(1);
  pool[pool.acquire_raw()].value = 99;
  pool.release(0);
  EXPECT_EQ(pool.acquire_raw(), 0U);
  EXPECT_EQ(pool[0].value, 99);
  EXPECT_EQ(pool[0].next, kNoSlot);
  EXPECT_EQ(pool.used(), 1U);
}

TEST(SlotPool, release__last_in_first_out) {
  SlotPool<Slot> pool(3);
  for (int i = 0; i < 3; ++i) pool.acquire();
  pool.release(0);
  pool.release(2);
  EXPECT_EQ(pool.acquire(), 2U) << "its memory is the warmer one";
  EXPECT_EQ(pool.acquire(), 0U);
}

TEST(SlotPool, release__a_kept_handle_no_longer_matches) {
  SlotPool<Slot> pool(1);
  const std::uint32_t index = pool.acquire();
  const std::uint32_t generation = pool[index].generation;
  pool.release(index);
  EXPECT_NE(pool[index].generation, generation);
  pool.acquire();
  EXPECT_EQ(pool[index].generation, generation + 1) << "acquire keeps the generation";
}

TEST(SlotPool, release__generation_wraps) {
  SlotPool<Slot> pool(1);
  pool.acquire();
  pool[0].generation = 0xffff'ffff;
  pool.release(0);
  EXPECT_EQ(pool[0].generation, 0U);
}

TEST(SlotPool, index__const_pool) {
  SlotPool<Slot> pool(1);
  pool.acquire();
  const SlotPool<Slot>& view = pool;
  EXPECT_EQ(view[0].value, 7);
}

TEST(SlotPool, index__addresses_stay) {
  SlotPool<Slot> pool(8);
  const Slot* const first = &pool[pool.acquire()];
  while (pool.acquire() != kNoSlot) continue;
  EXPECT_EQ(&pool[0], first);
}

TEST(SlotPoolDeathTest, index__beyond_the_capacity) {
  SlotPool<Slot> pool(2);
  EXPECT_DEATH(static_cast<void>(pool[2]), "index < capacity_");
  EXPECT_DEATH(static_cast<void>(pool[kNoSlot]), "index < capacity_");
  const SlotPool<Slot>& view = pool;
  EXPECT_DEATH(static_cast<void>(view[2]), "index < capacity_");
}

TEST(SlotPoolDeathTest, release__beyond_the_capacity) {
  SlotPool<Slot> pool(2);
  pool.acquire();
  EXPECT_DEATH(pool.release(2), "index < capacity_");
}

TEST(SlotPoolDeathTest, release__of_an_empty_pool) {
  SlotPool<Slot> pool(2);
  EXPECT_DEATH(pool.release(0), "available_ < capacity_");
}

TEST(SlotPoolProperty, no_slot_is_given_out_twice_and_none_is_lost) {
  EXPECT_TRUE(rc::check("the pool equals a set of free indices", [](std::uint64_t seed) {
    Prng prng(seed);
    const auto capacity = static_cast<std::uint32_t>(1 + prng.below(20));
    SlotPool<Slot> pool(capacity);
    std::vector<std::uint32_t> held;
    for (int step = 0; step < 200; ++step) {
      if (prng.chance(500'000)) {
        const std::uint32_t index = prng.chance(500'000) ? pool.acquire() : pool.acquire_raw();
        RC_ASSERT((index == kNoSlot) == (held.size() == capacity));
        if (index == kNoSlot) continue;
        RC_ASSERT(index < capacity);
        RC_ASSERT(std::find(held.begin(), held.end(), index) == held.end());
        pool[index].next = static_cast<std::uint32_t>(prng.next());  // the owner's while in use
        held.push_back(index);
      } else if (!held.empty()) {
        std::swap(held[prng.below(held.size())], held.back());
        pool.release(held.back());
        held.pop_back();
      }
      RC_ASSERT(pool.used() == held.size());
      RC_ASSERT(pool.available() == capacity - held.size());
    }
  }));
}

}  // namespace
}  // namespace zhinu

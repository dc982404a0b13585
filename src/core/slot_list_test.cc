#include "core/slot_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

struct Item {
  std::uint32_t next = kNoSlot;
  std::uint32_t generation = 0;
  std::uint32_t list_next = kNoSlot;
  std::uint32_t list_previous = kNoSlot;
};
using Pool = SlotPool<Item>;
using Queue = SlotQueue<Item, &Item::list_next>;
using List = SlotList<Item, &Item::list_next, &Item::list_previous>;
using Slots = std::vector<std::uint32_t>;

template <class Chain>
Slots slots_of(const Pool& pool, const Chain& chain) {
  Slots slots;
  for (std::uint32_t slot = chain.head; slot != kNoSlot; slot = pool[slot].list_next) {
    slots.push_back(slot);
  }
  EXPECT_EQ(chain.tail, slots.empty() ? kNoSlot : slots.back());
  EXPECT_EQ(chain.empty(), slots.empty());
  return slots;
}

TEST(SlotQueue, push_back__first_in_first_out) {
  Pool pool(4);
  Queue queue;
  for (const std::uint32_t slot : {2U, 0U, 3U}) queue.push_back(pool, slot);
  EXPECT_EQ(slots_of(pool, queue), (Slots{2, 0, 3}));
  EXPECT_EQ(queue.pop_front(pool), 2U);
  EXPECT_EQ(pool[2].list_next, kNoSlot);
  EXPECT_EQ(queue.pop_front(pool), 0U);
  EXPECT_EQ(queue.pop_front(pool), 3U);
  EXPECT_EQ(slots_of(pool, queue), Slots{});
  EXPECT_DEATH(queue.pop_front(pool), "head != kNoSlot");
}

TEST(SlotQueue, insert_after__front_middle_end) {
  Pool pool(5);
  Queue queue;
  queue.insert_after(pool, kNoSlot, 1);
  queue.insert_after(pool, kNoSlot, 0);
  queue.insert_after(pool, 1, 3);
  queue.insert_after(pool, 1, 2);
  EXPECT_EQ(slots_of(pool, queue), (Slots{0, 1, 2, 3}));
}

TEST(SlotQueue, remove_after__front_middle_end) {
  Pool pool(5);
  Queue queue;
  for (std::uint32_t slot = 0; slot < 5; ++slot) queue.push_back(pool, slot);
  queue.remove_after(pool, kNoSlot);
  queue.remove_after(pool, 1);
  queue.remove_after(pool, 3);
  EXPECT_EQ(slots_of(pool, queue), (Slots{1, 3}));
  EXPECT_DEATH(queue.remove_after(pool, 3), "slot != kNoSlot");
}

TEST(SlotQueue, append__to_and_of_an_empty_one) {
  Pool pool(4);
  Queue first;
  Queue second;
  first.append(pool, second);
  EXPECT_TRUE(first.empty());
  second.push_back(pool, 0);
  first.append(pool, second);
  EXPECT_TRUE(second.empty());
  second.push_back(pool, 1);
  second.push_back(pool, 2);
  first.append(pool, second);
  EXPECT_EQ(slots_of(pool, first), (Slots{0, 1, 2}));
  EXPECT_EQ(slots_of(pool, second), Slots{});
}

TEST(SlotList, remove__only_what_is_in_it) {
  Pool pool(3);
  List list;
  EXPECT_DEATH(list.pop_front(pool), "head != kNoSlot");
  list.push_back(pool, 1);
  EXPECT_DEATH(list.remove(pool, 0), "head == slot");
}

TEST(SlotList, insert_before__random_operations_match_a_vector) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    Pool pool(10);
    List list;
    Slots model;
    for (int step = 0; step < 300; ++step) {
      const auto slot = static_cast<std::uint32_t>(prng.below(10));
      const auto found = std::find(model.begin(), model.end(), slot);
      if (found != model.end() && prng.below(4) == 0) {
        ASSERT_EQ(list.pop_front(pool), model.front());
        model.erase(model.begin());
      } else if (found != model.end()) {
        list.remove(pool, slot);
        model.erase(found);
        ASSERT_EQ(pool[slot].list_next, kNoSlot);
        ASSERT_EQ(pool[slot].list_previous, kNoSlot);
      } else {
        const std::size_t at = prng.below(model.size() + 1);
        list.insert_before(pool, slot, at == model.size() ? kNoSlot : model[at]);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), slot);
      }
      ASSERT_EQ(slots_of(pool, list), model);
      std::uint32_t previous = kNoSlot;
      for (const std::uint32_t each : model) {
        ASSERT_EQ(pool[each].list_previous, previous);
        previous = each;
      }
    }
  }
}

}  // namespace
}  // namespace zhinu::core

#include "core/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr std::size_t kBlock = BlockPool::kBlockBytes;
constexpr std::uint32_t kNone = BlockPool::kNone;

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::byte> data(bytes);
  for (auto& each : data) each = static_cast<std::byte>(prng.next());
  return data;
}

std::vector<std::byte> read_back(const BlockPool& pool, std::uint32_t head, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  pool.read(head, data);
  return data;
}

TEST(BlockPool, constructor__no_blocks) {
  BlockPool pool(0);
  EXPECT_EQ(pool.blocks(), 0U);
  EXPECT_TRUE(pool.has_room(0));
  EXPECT_FALSE(pool.has_room(1));
  EXPECT_EQ(pool.store(pattern(1, 1)), kNone);
}

TEST(BlockPool, blocks_for__borders) {
  EXPECT_EQ(BlockPool::blocks_for(0), 0U);
  EXPECT_EQ(BlockPool::blocks_for(1), 1U);
  EXPECT_EQ(BlockPool::blocks_for(kBlock), 1U);
  EXPECT_EQ(BlockPool::blocks_for(kBlock + 1), 2U);
  EXPECT_EQ(BlockPool::blocks_for(8'192), 16U);
}

TEST(BlockPool, has_room__exactly_what_is_free) {
  const BlockPool pool(3);
  EXPECT_TRUE(pool.has_room(3 * kBlock));
  EXPECT_FALSE(pool.has_room(3 * kBlock + 1));
}

TEST(BlockPool, store__sizes_around_a_block_come_back) {
  BlockPool pool(4);
  for (const std::size_t bytes : {1UL, kBlock - 1, kBlock, kBlock + 1, 4 * kBlock}) {
    const auto data = pattern(bytes, bytes);
    const std::uint32_t head = pool.store(data);
    ASSERT_NE(head, kNone);
    EXPECT_EQ(pool.free_blocks(), 4 - BlockPool::blocks_for(bytes));
    EXPECT_EQ(read_back(pool, head, bytes), data);
    pool.free(head);
    EXPECT_EQ(pool.free_blocks(), 4U);
  }
}

TEST(BlockPool, store__no_bytes) {
  BlockPool pool(1);
  EXPECT_EQ(pool.store({}), kNone);
  EXPECT_EQ(pool.free_blocks(), 1U);
}

TEST(BlockPool, store__full) {
  BlockPool pool(2);
  EXPECT_EQ(pool.store(pattern(2 * kBlock + 1, 1)), kNone);
  EXPECT_EQ(pool.free_blocks(), 2U) << "nothing is kept of what has no room";
  const std::uint32_t first = pool.store(pattern(kBlock, 1));
  const std::uint32_t second = pool.store(pattern(1, 2));
  EXPECT_NE(first, kNone);
  EXPECT_NE(second, kNone);
  EXPECT_EQ(pool.store(pattern(1, 3)), kNone);
  pool.free(first);
  EXPECT_NE(pool.store(pattern(1, 3)), kNone);
  EXPECT_EQ(read_back(pool, second, 1), pattern(1, 2));
}

TEST(BlockPool, read__only_the_first_bytes) {
  BlockPool pool(4);
  const auto data = pattern(3 * kBlock, 9);
  const std::uint32_t head = pool.store(data);
  EXPECT_EQ(read_back(pool, head, 5), std::vector(data.begin(), data.begin() + 5));
  EXPECT_EQ(read_back(pool, head, kBlock + 5),
            std::vector(data.begin(), data.begin() + kBlock + 5));
  pool.read(head, {});
  pool.read(kNone, {});
}

TEST(BlockPoolDeathTest, read__more_than_the_chain_holds) {
  BlockPool pool(4);
  const std::uint32_t head = pool.store(pattern(kBlock, 1));
  EXPECT_DEATH(read_back(pool, head, kBlock + 1), "head < total_");
}

TEST(BlockPool, free__nothing) {
  BlockPool pool(2);
  pool.free(kNone);
  EXPECT_EQ(pool.free_blocks(), 2U);
}

TEST(BlockPoolDeathTest, free__twice) {
  BlockPool pool(1);
  const std::uint32_t head = pool.store(pattern(1, 1));
  pool.free(head);
  EXPECT_DEATH(pool.free(head), "free_count_ < total_");
}

TEST(BlockPool, grow__adds_room_and_keeps_what_is_stored) {
  BlockPool pool(1);
  const auto data = pattern(kBlock, 4);
  const std::uint32_t head = pool.store(data);
  EXPECT_FALSE(pool.has_room(1));
  for (std::uint32_t i = 0; i < 200; ++i) pool.grow(2);
  EXPECT_EQ(pool.blocks(), 401U);
  EXPECT_EQ(pool.free_blocks(), 400U);
  const auto large = pattern(400 * kBlock, 5);
  const std::uint32_t large_head = pool.store(large);
  EXPECT_EQ(read_back(pool, large_head, large.size()), large);
  EXPECT_EQ(read_back(pool, head, kBlock), data);
  pool.grow(0);
  EXPECT_EQ(pool.blocks(), 401U);
}

TEST(BlockPool, random_stores_and_frees_never_mix) {
  Prng prng(7);
  BlockPool pool(100);
  std::map<std::uint32_t, std::vector<std::byte>> stored;
  std::uint32_t used = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (prng.below(2) == 0) {
      const auto data = pattern(1 + prng.below(20 * kBlock), prng.next());
      const bool fits = BlockPool::blocks_for(data.size()) <= pool.blocks() - used;
      ASSERT_EQ(pool.has_room(data.size()), fits);
      const std::uint32_t head = pool.store(data);
      ASSERT_EQ(head != kNone, fits);
      if (!fits) continue;
      used += BlockPool::blocks_for(data.size());
      ASSERT_TRUE(stored.emplace(head, data).second);
    } else if (!stored.empty()) {
      auto victim = stored.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(prng.below(stored.size())));
      ASSERT_EQ(read_back(pool, victim->first, victim->second.size()), victim->second);
      pool.free(victim->first);
      used -= BlockPool::blocks_for(victim->second.size());
      stored.erase(victim);
    }
    ASSERT_EQ(pool.free_blocks(), pool.blocks() - used);
    if (step % 5'000 == 0) pool.grow(7);
  }
}

}  // namespace
}  // namespace zhinu::core

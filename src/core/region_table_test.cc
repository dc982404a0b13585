#include "core/region_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

constexpr RegionAccess kReadWrite{.remote_read = true, .remote_write = true};
constexpr RegionAccess kReadOnly{.remote_read = true, .remote_write = false};
constexpr RegionAccess kWriteOnly{.remote_read = false, .remote_write = true};
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : prng_(seed) {}
  void fill(MutableByteSpan out) override {
    for (auto& each : out) each = static_cast<std::byte>(prng_.next());
  }

 private:
  Prng prng_;
};

// Gives the listed words, then counts up from 1'000.
class ScriptedEntropy final : public Entropy {
 public:
  explicit ScriptedEntropy(std::deque<std::uint64_t> words) : words_(std::move(words)) {}
  void fill(MutableByteSpan out) override {
    ASSERT_EQ(out.size(), sizeof(std::uint64_t));
    if (words_.empty()) words_.push_back(next_++);
    store_le(out.data(), words_.front());
    words_.pop_front();
  }

 private:
  std::deque<std::uint64_t> words_;
  std::uint64_t next_ = 1'000;
};

RegionKey add(RegionTable& table, MutableByteSpan memory, RegionAccess access, Entropy& entropy) {
  const auto key = table.add(memory, access, entropy);
  EXPECT_TRUE(key.ok());
  return key.value();
}

TEST(RegionTable, add__returns_a_key_that_finds_the_memory) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(100);
  const RegionKey key = add(table, memory, kReadWrite, entropy);
  EXPECT_NE(key.value, 0U);
  EXPECT_EQ(table.size(), 1U);
  const auto found = table.find_for_write(key, 10, 20);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().data(), memory.data() + 10);
  EXPECT_EQ(found.value().size(), 20U);
  const auto read = table.find_for_read(key, 99, 1);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().data(), memory.data() + 99);
}

TEST(RegionTable, add__full) {
  RegionTable table(2);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(8);
  const RegionKey first = add(table, memory, kReadWrite, entropy);
  add(table, memory, kReadWrite, entropy);
  EXPECT_EQ(table.add(memory, kReadWrite, entropy).error(), Errc::kFull);
  EXPECT_EQ(table.size(), 2U);
  EXPECT_TRUE(table.remove(first).ok());
  EXPECT_TRUE(table.add(memory, kReadWrite, entropy).ok());
}

TEST(RegionTable, add__table_of_no_regions) {
  RegionTable table(0);
  SeededEntropy entropy(1);
  EXPECT_EQ(table.add({}, kReadWrite, entropy).error(), Errc::kFull);
  EXPECT_EQ(table.find_for_read({7}, 0, 0).error(), Errc::kRegionRefused);
  EXPECT_EQ(table.remove({7}).error(), Errc::kUnknownRegion);
}

TEST(RegionTable, add__draws_again_for_zero_and_for_a_key_in_use) {
  RegionTable table(4);
  ScriptedEntropy entropy({0, 5, 5, 0, 6});
  std::vector<std::byte> memory(8);
  EXPECT_EQ(add(table, memory, kReadWrite, entropy).value, 5U);
  EXPECT_EQ(add(table, memory, kReadWrite, entropy).value, 6U);
}

TEST(RegionTableDeathTest, add__entropy_that_gives_only_zeros) {
  RegionTable table(4);
  ScriptedEntropy entropy(std::deque<std::uint64_t>(100));
  EXPECT_DEATH(static_cast<void>(table.add({}, kReadWrite, entropy)), "assertion");
}

TEST(RegionTable, find_for_write__access_not_granted) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(8);
  const RegionKey key = add(table, memory, kReadOnly, entropy);
  EXPECT_EQ(table.find_for_write(key, 0, 1).error(), Errc::kRegionRefused);
  EXPECT_TRUE(table.find_for_read(key, 0, 1).ok());
}

TEST(RegionTable, find_for_read__access_not_granted) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(8);
  const RegionKey key = add(table, memory, kWriteOnly, entropy);
  EXPECT_EQ(table.find_for_read(key, 0, 1).error(), Errc::kRegionRefused);
  EXPECT_TRUE(table.find_for_write(key, 0, 1).ok());
  const RegionKey none = add(table, memory, {}, entropy);
  EXPECT_EQ(table.find_for_read(none, 0, 0).error(), Errc::kRegionRefused);
  EXPECT_EQ(table.find_for_write(none, 0, 0).error(), Errc::kRegionRefused);
}

TEST(RegionTable, find__unknown_key_and_key_zero) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(8);
  const RegionKey key = add(table, memory, kReadWrite, entropy);
  for (const RegionKey other : {RegionKey{0}, RegionKey{key.value + 1}, RegionKey{key.value ^ 8}}) {
    EXPECT_EQ(table.find_for_read(other, 0, 0).error(), Errc::kRegionRefused);
    EXPECT_EQ(table.find_for_write(other, 0, 0).error(), Errc::kRegionRefused);
  }
}

TEST(RegionTable, find__range_at_the_borders) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(100);
  const RegionKey key = add(table, memory, kReadWrite, entropy);
  EXPECT_EQ(table.find_for_write(key, 0, 100).value().size(), 100U);
  EXPECT_EQ(table.find_for_write(key, 100, 0).value().size(), 0U);
  EXPECT_EQ(table.find_for_read(key, 100, 0).value().size(), 0U);
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 101}, {100, 1}, {101, 0}, {1, kMax}, {kMax, 1}, {kMax, kMax}, {50, kMax - 49}}) {
    EXPECT_EQ(table.find_for_write(key, offset, length).error(), Errc::kRegionRefused);
    EXPECT_EQ(table.find_for_read(key, offset, length).error(), Errc::kRegionRefused);
  }
}

TEST(RegionTable, find__region_of_zero_bytes) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  const RegionKey key = add(table, {}, kReadWrite, entropy);
  EXPECT_TRUE(table.find_for_write(key, 0, 0).ok());
  EXPECT_EQ(table.find_for_write(key, 0, 1).error(), Errc::kRegionRefused);
}

TEST(RegionTable, remove__unknown_twice_and_zero) {
  RegionTable table(4);
  SeededEntropy entropy(1);
  std::vector<std::byte> memory(8);
  const RegionKey key = add(table, memory, kReadWrite, entropy);
  EXPECT_EQ(table.remove({0}).error(), Errc::kUnknownRegion);
  EXPECT_EQ(table.remove({key.value + 1}).error(), Errc::kUnknownRegion);
  EXPECT_TRUE(table.remove(key).ok());
  EXPECT_EQ(table.remove(key).error(), Errc::kUnknownRegion);
  EXPECT_EQ(table.find_for_read(key, 0, 0).error(), Errc::kRegionRefused);
  EXPECT_EQ(table.size(), 0U);
}

// Keys chosen so that their places collide, also over the end of the table.
TEST(RegionTable, remove__one_of_a_cluster_leaves_the_others_findable) {
  const std::vector<std::uint64_t> keys{15, 31, 47, 16, 63, 32, 17, 14};  // 16 places for 7 regions
  std::vector<std::byte> memory(64);
  for (std::size_t removed = 0; removed < 7; ++removed) {
    RegionTable table(7);
    ScriptedEntropy entropy({keys.begin(), keys.begin() + 7});
    for (std::size_t i = 0; i < 7; ++i) {
      const MutableByteSpan part = MutableByteSpan(memory).subspan(i);
      ASSERT_EQ(add(table, part, kReadWrite, entropy).value, keys[i]);
    }
    ASSERT_TRUE(table.remove({keys[removed]}).ok());
    for (std::size_t i = 0; i < 8; ++i) {
      const auto found = table.find_for_read({keys[i]}, 0, 1);
      ASSERT_EQ(found.ok(), i != removed && i != 7) << "removed " << removed << " asked " << i;
      if (found.ok()) {
        ASSERT_EQ(found.value().data(), memory.data() + i);
      }
    }
  }
}

// Small keys make many collisions; a map is the reference.
TEST(RegionTable, random_operations_equal_the_reference) {
  Prng prng(11);
  RegionTable table(20);
  std::vector<std::byte> memory(1'000);
  std::map<std::uint64_t, std::size_t> reference;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t word = 1 + prng.below(80);
    if (prng.below(2) == 0 && reference.count(word) == 0) {
      ScriptedEntropy entropy({word});
      const std::size_t at = prng.below(memory.size());
      const auto key = table.add(MutableByteSpan(memory).subspan(at), kReadWrite, entropy);
      ASSERT_EQ(key.ok(), reference.size() < 20);
      if (key.ok()) reference.emplace(key.value().value, at);
    } else if (prng.below(2) == 0) {
      ASSERT_EQ(table.remove({word}).ok(), reference.erase(word) != 0);
    }
    ASSERT_EQ(table.size(), reference.size());
    const std::uint64_t asked = prng.below(82);
    const auto found = table.find_for_write({asked}, 0, 1);
    const auto expected = reference.find(asked);
    ASSERT_EQ(found.ok(), expected != reference.end());
    if (found.ok()) {
      ASSERT_EQ(found.value().data(), memory.data() + expected->second);
    }
  }
}

}  // namespace
}  // namespace zhinu::core

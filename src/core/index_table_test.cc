#include "core/index_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace zhinu::core {
namespace {

TEST(IndexTable, find__an_empty_table_has_none) {
  const IndexTable table(4);
  EXPECT_EQ(table.find(0), IndexTable::kNone);
  EXPECT_EQ(table.find(~0ULL), IndexTable::kNone);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.entries_max(), 4U);
}

TEST(IndexTable, insert__find_update_erase) {
  IndexTable table(4);
  table.insert(0, 7);
  table.insert(~0ULL, 0);
  EXPECT_EQ(table.find(0), 7U);
  EXPECT_EQ(table.find(~0ULL), 0U);
  table.update(0, 8);
  EXPECT_EQ(table.find(0), 8U);
  EXPECT_EQ(table.size(), 2U);
  table.erase(0);
  table.erase(0);  // no-op
  table.erase(1);  // never there
  EXPECT_EQ(table.find(0), IndexTable::kNone);
  EXPECT_EQ(table.find(~0ULL), 0U);
  EXPECT_EQ(table.size(), 1U);
}

TEST(IndexTable, insert__one_too_many_and_twice_the_same_are_own_bugs) {
  IndexTable table(1);
  EXPECT_DEATH(table.update(5, 1), "assertion");
  table.insert(5, 1);
  EXPECT_DEATH(table.insert(6, 1), "size_ < entries_max_");
  IndexTable larger(2);
  larger.insert(5, 1);
  EXPECT_DEATH(larger.insert(5, 2), "key != key");
  EXPECT_DEATH(larger.insert(6, IndexTable::kNone), "value != kNone");
}

// Small tables have long probe runs that wrap: erasing shifts cells back over the end.
TEST(IndexTable, erase__random_operations_match_a_map) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const auto capacity = static_cast<std::uint32_t>(prng.between(1, 12));
    IndexTable table(capacity);
    std::map<std::uint64_t, std::uint32_t> model;
    for (std::uint32_t step = 0; step < 300; ++step) {
      const std::uint64_t key = prng.below(24);
      if (model.count(key) != 0 && prng.below(2) == 0) {
        table.update(key, step);
        model[key] = step;
      } else if (model.count(key) != 0 || model.size() == capacity) {
        table.erase(key);
        model.erase(key);
      } else {
        table.insert(key, step);
        model[key] = step;
      }
      ASSERT_EQ(table.size(), model.size());
      for (std::uint64_t each = 0; each < 24; ++each) {
        const auto found = model.find(each);
        ASSERT_EQ(table.find(each), found == model.end() ? IndexTable::kNone : found->second);
      }
    }
  }
}

}  // namespace
}  // namespace zhinu::core

#include "core/number_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"

namespace zhinu::core {
namespace {

TEST(NumberSet, add_and_remove__twice_is_once) {
  NumberSet set;
  EXPECT_TRUE(set.empty());
  set.remove(7);
  EXPECT_TRUE(set.empty());
  set.add(7);
  set.add(7);
  EXPECT_TRUE(set.contains(7));
  EXPECT_FALSE(set.contains(8));
  set.remove(7);
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(7));
}

TEST(NumberSet, random__as_a_set_of_the_window) {
  NumberSet set;
  std::set<std::uint64_t> expected;
  Prng prng(1);
  std::uint64_t floor = 1ULL << 40;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = floor + prng.below(NumberWindow::kWindow);
    EXPECT_EQ(set.contains(number), expected.contains(number));
    if (prng.below(2) == 0) {
      set.add(number);
      expected.insert(number);
    } else {
      set.remove(number);
      expected.erase(number);
    }
    EXPECT_EQ(set.empty(), expected.empty());
    if (prng.below(4) == 0) {  // the window moves on: what it leaves behind is taken out
      set.remove(floor);
      expected.erase(floor);
      ++floor;
    }
  }
}

}  // namespace
}  // namespace zhinu::core

#include "core/in_path_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace zhinu::core {
namespace {

TEST(InPathPool, acquire__paths_are_fresh_and_differ) {
  InPathPool pool(2, 3);
  InPaths paths{};
  std::set<InPath*> taken;
  for (const int at : {0, 7, 63, 1}) {
    const auto index = static_cast<std::uint8_t>(at);
    InPath* const path = pool.acquire(paths, index);
    ASSERT_NE(path, nullptr);
    EXPECT_EQ(paths[index], path);
    EXPECT_EQ(path->expected_number(), 0U);
    path->on_packet(Instant{1}, 5, 100, true, false);
    taken.insert(path);
  }
  EXPECT_EQ(taken.size(), 4U);
  EXPECT_EQ(pool.used(), 4U);
  pool.release(paths);
  EXPECT_EQ(pool.used(), 0U);
  EXPECT_EQ(paths, InPaths{});
  InPath* const again = pool.acquire(paths, 2);
  EXPECT_EQ(taken.count(again), 1U);
  EXPECT_EQ(again->expected_number(), 0U);  // nothing is left of what it was
}

TEST(InPathPool, acquire__the_first_of_each_peer_is_kept) {
  InPathPool pool(3, 2);
  std::array<InPaths, 3> peers{};
  EXPECT_NE(pool.acquire(peers[0], 0), nullptr);
  EXPECT_NE(pool.acquire(peers[0], 1), nullptr);
  EXPECT_NE(pool.acquire(peers[0], 2), nullptr);
  EXPECT_EQ(pool.acquire(peers[0], 3), nullptr);
  EXPECT_EQ(peers[0][3], nullptr);
  EXPECT_NE(pool.acquire(peers[1], 9), nullptr);
  EXPECT_EQ(pool.acquire(peers[1], 8), nullptr);
  EXPECT_NE(pool.acquire(peers[2], 0), nullptr);
  EXPECT_EQ(pool.used(), 5U);

  pool.release(peers[0]);
  EXPECT_NE(pool.acquire(peers[1], 8), nullptr);
  EXPECT_NE(pool.acquire(peers[2], 8), nullptr);
  EXPECT_EQ(pool.acquire(peers[2], 9), nullptr);
  EXPECT_NE(pool.acquire(peers[0], 0), nullptr);
  EXPECT_EQ(pool.used(), 5U);
}

TEST(InPathPool, acquire__no_more_than_the_first_ones) {
  InPathPool pool(2, 0);
  std::array<InPaths, 2> peers{};
  EXPECT_NE(pool.acquire(peers[0], 1), nullptr);
  EXPECT_EQ(pool.acquire(peers[0], 0), nullptr);
  EXPECT_NE(pool.acquire(peers[1], 0), nullptr);
  pool.release(peers[1]);
  pool.release(peers[1]);  // nothing
  EXPECT_EQ(pool.used(), 1U);
}

}  // namespace
}  // namespace zhinu::core

#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace zhinu {
namespace {

using PeerId = Id<struct PeerTag>;
using PathIndex = Id<struct PathTag, std::uint8_t>;

TEST(Id, default_is_none) {
  EXPECT_TRUE(PeerId{}.is_none());
  EXPECT_TRUE(PeerId::none().is_none());
  EXPECT_EQ(PeerId{}, PeerId::none());
}

TEST(Id, none__is_the_largest_value_of_the_representation) {
  EXPECT_EQ(PeerId::none().value, 0xffff'ffffU);
  EXPECT_EQ(PathIndex::none().value, 0xff);
  EXPECT_TRUE(PathIndex{255}.is_none());
}

TEST(Id, is_none__zero_is_an_id) {
  EXPECT_FALSE(PeerId{0}.is_none());
  EXPECT_FALSE(PeerId{0xffff'fffe}.is_none());
}

TEST(Id, order_is_that_of_the_values) {
  EXPECT_LT(PeerId{1}, PeerId{2});
  EXPECT_EQ(PeerId{7}, PeerId{7});
  EXPECT_NE(PeerId{7}, PeerId{8});
  EXPECT_LT(PeerId{7}, PeerId::none());
}

TEST(Id, works_at_compile_time) {
  static_assert(PeerId{3}.value == 3);
  static_assert(PeerId::none().is_none());
}

// The reason for the type: ids of different things cannot be swapped.
TEST(Id, tags_do_not_mix) {
  using FlowId = Id<struct FlowTag>;
  static_assert(!std::is_convertible_v<PeerId, FlowId>);
  static_assert(!std::is_convertible_v<std::uint32_t, PeerId>);
  static_assert(!std::is_convertible_v<PeerId, std::uint32_t>);
  static_assert(!std::is_same_v<PeerId, FlowId>);
  static_assert(sizeof(PeerId) == 4);
  static_assert(sizeof(PathIndex) == 1);
}

}  // namespace
}  // namespace zhinu

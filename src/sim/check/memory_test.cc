#include "sim/check/memory.h"

#include <gtest/gtest.h>

#include "sim/check/content.h"

namespace zhinu::sim::check {
namespace {

TEST(Memory, find__knows_the_owner_of_each_byte) {
  Memory memory(1'000, 10);
  const BufferId a = memory.allocate(100);
  const BufferId empty = memory.allocate(0);
  const BufferId b = memory.allocate(50);
  EXPECT_EQ(memory.find(memory.span(a).data()), a);
  EXPECT_EQ(memory.find(memory.span(a).data() + 99), a);
  EXPECT_TRUE(memory.find(memory.span(a).data() + 100).is_none());
  EXPECT_TRUE(memory.find(memory.span(a).data() - 1).is_none());
  EXPECT_TRUE(memory.find(memory.span(empty).data()).is_none());
  EXPECT_EQ(memory.find(memory.span(b).data() + 49), b);
  EXPECT_TRUE(memory.find(nullptr).is_none());
}

TEST(Memory, borders_whole__notices_one_byte_on_either_side) {
  Memory memory(1'000, 10);
  const BufferId a = memory.allocate(100);
  const MutableByteSpan bytes = memory.span(a);
  EXPECT_TRUE(memory.borders_whole(a));
  bytes[0] = std::byte{0};
  bytes[99] = std::byte{0};
  EXPECT_TRUE(memory.borders_whole(a));
  *(bytes.data() - 1) = std::byte{0};
  EXPECT_FALSE(memory.borders_whole(a));
  *(bytes.data() - 1) = kPoison;
  *(bytes.data() + 100) = std::byte{0};
  EXPECT_FALSE(memory.borders_whole(a));
}

TEST(Memory, allocate__alignments_differ_and_buffers_are_poisoned) {
  Memory memory(8'000, 16);
  std::uint32_t odd = 0;
  for (int i = 0; i < 16; ++i) {
    const MutableByteSpan bytes = memory.span(memory.allocate(100));
    EXPECT_EQ(first_unpoisoned(bytes), kAllRight);
    odd += static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(bytes.data()) % 2);
  }
  EXPECT_GT(odd, 0U);
  EXPECT_LT(odd, 16U);
}

}  // namespace
}  // namespace zhinu::sim::check

#include "sim/check/content.h"

#include <gtest/gtest.h>

#include <vector>

namespace zhinu::sim::check {
namespace {

TEST(Content, fill_content__pieces_at_any_offset_fit_together) {
  std::vector<std::byte> whole(1'000);
  fill_content(7, 3, whole);
  for (std::size_t offset = 0; offset < 20; ++offset) {
    std::vector<std::byte> piece(100);
    fill_content(7, 3 + offset, piece);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<long>(offset)));
  }
  EXPECT_EQ(first_wrong(7, 3, whole), kAllRight);
}

TEST(Content, first_wrong__names_the_byte) {
  std::vector<std::byte> bytes(77);
  fill_content(9, 5, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(first_wrong(9, 5, bytes), i);
    bytes[i] ^= std::byte{1};
  }
}

TEST(Content, first_wrong__finds_another_message_and_another_offset) {
  std::vector<std::byte> bytes(64);
  fill_content(content_key(1, 2), 0, bytes);
  EXPECT_NE(first_wrong(content_key(1, 3), 0, bytes), kAllRight);
  EXPECT_NE(first_wrong(content_key(2, 2), 0, bytes), kAllRight);
  EXPECT_NE(first_wrong(content_key(1, 2), 128, bytes), kAllRight);
}

TEST(Content, first_wrong__nothing_is_right) { EXPECT_EQ(first_wrong(1, 0, {}), kAllRight); }

TEST(Content, first_unpoisoned__names_the_byte) {
  std::vector<std::byte> bytes(10, kPoison);
  EXPECT_EQ(first_unpoisoned(bytes), kAllRight);
  bytes[9] = std::byte{0};
  EXPECT_EQ(first_unpoisoned(bytes), 9U);
}

TEST(Content, hash_of__every_byte_and_the_length_matter) {
  std::vector<std::byte> bytes(21, kPoison);
  const std::uint64_t before = hash_of(bytes);
  for (std::byte& byte : bytes) {
    byte ^= std::byte{1};
    EXPECT_NE(hash_of(bytes), before);
    byte ^= std::byte{1};
  }
  EXPECT_NE(hash_of(ByteSpan(bytes).first(20)), before);
}

}  // namespace
}  // namespace zhinu::sim::check

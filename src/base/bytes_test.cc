#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace zhinu {
namespace {

constexpr std::array<std::byte, 9> kBytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x03},
                                             std::byte{0x04}, std::byte{0x05}, std::byte{0x06},
                                             std::byte{0x07}, std::byte{0x88}, std::byte{0x99}};

TEST(Bytes, load_le__lowest_byte_first) {
  EXPECT_EQ(load_le<std::uint8_t>(kBytes.data()), 0x01U);
  EXPECT_EQ(load_le<std::uint16_t>(kBytes.data()), 0x0201U);
  EXPECT_EQ(load_le<std::uint32_t>(kBytes.data()), 0x0403'0201U);
  EXPECT_EQ(load_le<std::uint64_t>(kBytes.data()), 0x8807'0605'0403'0201U);
}

TEST(Bytes, load_le__at_any_address) {
  EXPECT_EQ(load_le<std::uint64_t>(kBytes.data() + 1), 0x9988'0706'0504'0302U);
  EXPECT_EQ(load_le<std::uint16_t>(kBytes.data() + 7), 0x9988U);
}

TEST(Bytes, load_le__signed) {
  EXPECT_EQ(load_le<std::int16_t>(kBytes.data() + 7), static_cast<std::int16_t>(0x9988));
}

TEST(Bytes, store_le__lowest_byte_first_and_no_byte_beyond) {
  std::array<std::byte, 6> out{};
  store_le(out.data() + 1, std::uint32_t{0x0403'0201});
  EXPECT_EQ(out[0], std::byte{0});
  EXPECT_EQ(out[1], std::byte{0x01});
  EXPECT_EQ(out[4], std::byte{0x04});
  EXPECT_EQ(out[5], std::byte{0});
}

template <class T>
void expect_round_trip(T value) {
  std::array<std::byte, 1 + sizeof(T)> out{};
  store_le(out.data() + 1, value);
  EXPECT_EQ(load_le<T>(out.data() + 1), value);
}

TEST(Bytes, round_trip__borders) {
  expect_round_trip(std::numeric_limits<std::uint8_t>::max());
  expect_round_trip(std::numeric_limits<std::uint16_t>::max());
  expect_round_trip(std::numeric_limits<std::uint32_t>::max());
  expect_round_trip(std::numeric_limits<std::uint64_t>::max());
  expect_round_trip(std::numeric_limits<std::int64_t>::min());
  expect_round_trip(std::uint64_t{0});
  expect_round_trip(std::uint64_t{1} << 63);
}

TEST(Bytes, round_trip__structure) {
  struct Pair {
    std::uint16_t first;
    std::uint16_t second;
  };
  std::array<std::byte, sizeof(Pair)> out{};
  store_le(out.data(), Pair{.first = 0x0102, .second = 0x0304});
  EXPECT_EQ(out[0], std::byte{0x02});
  EXPECT_EQ(load_le<Pair>(out.data()).second, 0x0304);
}

}  // namespace
}  // namespace zhinu

#include "base/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/prng.h"

namespace zhinu {
namespace {

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.below(256));
  return bytes;
}

// Bit by bit from the definition, with nothing in common with the kernels.
std::uint32_t reference(std::uint32_t seed, ByteSpan bytes) {
  std::uint32_t crc = ~seed;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

class Crc32c : public ::testing::TestWithParam<Crc32cKernel> {
 protected:
  void SetUp() override {
    if (!crc32c_kernel_available(GetParam())) GTEST_SKIP() << "no SSE4.2 or no PCLMULQDQ";
  }
  std::uint32_t crc(std::uint32_t seed, ByteSpan bytes) { return crc32c(GetParam(), seed, bytes); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Crc32c,
                         ::testing::Values(Crc32cKernel::kTable, Crc32cKernel::kSse42),
                         [](const auto& param) { return crc32c_kernel_name(param.param); });

TEST_P(Crc32c, crc32c__rfc_3720_examples) {
  std::array<std::byte, 32> bytes{};
  EXPECT_EQ(crc(0, bytes), 0x8a9136aaU);
  bytes.fill(std::byte{0xff});
  EXPECT_EQ(crc(0, bytes), 0x62a8ab43U);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc(0, bytes), 0x46dd794eU);
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc(0, std::as_bytes(std::span(digits))), 0xe3069283U);
}

TEST_P(Crc32c, crc32c__nothing_changes_nothing) {
  EXPECT_EQ(crc(0, {}), 0U);
  EXPECT_EQ(crc(0x12345678, {}), 0x12345678U);
}

TEST_P(Crc32c, crc32c__every_length_to_5000_and_every_alignment) {
  const std::vector<std::byte> bytes = random_bytes(5000 + 16, 1);
  for (std::size_t size = 0; size <= 5000; ++size) {
    const ByteSpan part = ByteSpan(bytes).subspan(size % 16, size);
    const auto seed = static_cast<std::uint32_t>(size * 2654435761U);
    ASSERT_EQ(crc(seed, part), reference(seed, part)) << size;
  }
  for (std::size_t size = 0; size <= 200; ++size) {
    for (std::size_t offset = 0; offset < 16; ++offset) {
      const ByteSpan part = ByteSpan(bytes).subspan(offset, size);
      ASSERT_EQ(crc(0, part), reference(0, part)) << size << " at " << offset;
    }
  }
}

TEST_P(Crc32c, crc32c__large_payload) {
  const std::vector<std::byte> bytes = random_bytes(65'507, 2);
  EXPECT_EQ(crc(7, bytes), reference(7, bytes));
}

TEST_P(Crc32c, crc32c__any_split_gives_the_same) {
  EXPECT_TRUE(rc::check([this] {
    const auto bytes =
        random_bytes(*rc::gen::inRange<std::size_t>(0, 4000), *rc::gen::arbitrary<std::uint64_t>());
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
    const ByteSpan all(bytes);
    RC_ASSERT(crc(crc(0, all.first(cut)), all.subspan(cut)) == crc(0, all));
  }));
}

TEST_P(Crc32c, crc32c__every_flipped_bit_is_found) {
  std::vector<std::byte> bytes = random_bytes(300, 3);
  const std::uint32_t before = crc(0, bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(crc(0, bytes), before) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Crc32cKernel, best_crc32c_kernel__is_available_and_named) {
  EXPECT_TRUE(crc32c_kernel_available(best_crc32c_kernel()));
  EXPECT_STREQ(crc32c_kernel_name(Crc32cKernel::kTable), "table");
  EXPECT_STREQ(crc32c_kernel_name(Crc32cKernel::kSse42), "sse42");
}

}  // namespace
}  // namespace zhinu

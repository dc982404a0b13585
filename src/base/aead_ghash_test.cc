#include "base/aead_ghash.h"

#include <gtest/gtest.h>

#include <array>

namespace zhinu::gmac {
namespace {

class MakeTable : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gmac_kernel_available(GmacKernel::kPclmul)) {
      GTEST_SKIP() << "this CPU lacks the instructions of pclmul";
    }
  }
};

// x * y in GF(2^128) bit by bit, as the GCM specification has it: bit 0 is the top
// bit of the first byte. On whole blocks, byte-swapped, so that it is a shift.
GmacTable::Block reference_product(GmacTable::Block x, GmacTable::Block y) {
  GmacTable::Block z{};
  for (int bit = 127; bit >= 0; --bit) {
    const std::uint64_t word = bit >= 64 ? y.high : y.low;
    if ((word >> (bit % 64) & 1) != 0) {
      z.low ^= x.low;
      z.high ^= x.high;
    }
    const bool carry = (x.low & 1) != 0;
    x.low = x.low >> 1 | x.high << 63;
    x.high = x.high >> 1 ^ (carry ? 0xe1ULL << 56 : 0);
  }
  return z;
}

// The kernels keep H * x; this takes the x away.
GmacTable::Block without_x(GmacTable::Block power) {
  const GmacTable::Block one_over_x{0, 0x4000000000000000};
  return reference_product(power, one_over_x);
}

TEST_F(MakeTable, make_table__round_keys_of_fips_197) {
  constexpr std::array<std::uint8_t, 16> kKey = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                                 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
  constexpr std::array<std::uint8_t, 16> kLast = {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89,
                                                  0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6};
  const GmacTable table = make_table(std::as_bytes(std::span<const std::uint8_t, 16>(kKey)));
  EXPECT_EQ(std::memcmp(&table.round_keys.front(), kKey.data(), 16), 0);
  EXPECT_EQ(std::memcmp(&table.round_keys.back(), kLast.data(), 16), 0);
}

TEST_F(MakeTable, make_table__hash_key_of_the_specification) {
  // Test case 1 of the GCM specification: the hash key of the zero key.
  const GmacTable table = make_table(std::array<std::byte, kGmacKeyBytes>{});
  const GmacTable::Block hash_key = without_x(table.powers.back());
  EXPECT_EQ(hash_key.high, 0x66e94bd4ef8a2c3bULL);
  EXPECT_EQ(hash_key.low, 0x884cfa59ca342b2eULL);
}

TEST_F(MakeTable, make_table__each_power_is_the_next_times_the_first) {
  const GmacTable table = make_table(std::array<std::byte, kGmacKeyBytes>{std::byte{1}});
  const GmacTable::Block hash_key = without_x(table.powers.back());
  for (std::size_t i = 0; i + 1 < GmacTable::kPowers; ++i) {
    const GmacTable::Block product = reference_product(table.powers[i + 1], hash_key);
    EXPECT_EQ(table.powers[i].low, product.low) << i;
    EXPECT_EQ(table.powers[i].high, product.high) << i;
  }
}

TEST_F(MakeTable, make_table__halves_are_the_sums_of_each_power) {
  const GmacTable table = make_table(std::array<std::byte, kGmacKeyBytes>{std::byte{2}});
  for (std::size_t i = 0; i < GmacTable::kPowers; ++i) {
    EXPECT_EQ(table.power_halves[i], table.powers[i].low ^ table.powers[i].high) << i;
  }
}

}  // namespace
}  // namespace zhinu::gmac

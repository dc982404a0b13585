#include "base/aead_kdf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace zhinu {
namespace {

std::string hex_of_bytes(ByteSpan bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

std::vector<std::byte> counting_bytes(unsigned first, unsigned last) {
  std::vector<std::byte> bytes;
  for (unsigned value = first; value <= last; ++value)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string expanded(const Sha256Digest& key, ByteSpan info, std::size_t size) {
  std::vector<std::byte> out(size);
  hkdf_expand(key, info, out);
  return hex_of_bytes(out);
}

TEST(Hkdf, extract_expand__rfc_5869_case_1) {
  const std::vector<std::byte> input(22, std::byte{0x0b});
  const Sha256Digest key = hkdf_extract(counting_bytes(0x00, 0x0c), input);
  EXPECT_EQ(hex_of_bytes(key), "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
  EXPECT_EQ(expanded(key, counting_bytes(0xf0, 0xf9), 42),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
}

TEST(Hkdf, extract_expand__rfc_5869_case_2_long_inputs) {
  const Sha256Digest key = hkdf_extract(counting_bytes(0x60, 0xaf), counting_bytes(0x00, 0x4f));
  EXPECT_EQ(hex_of_bytes(key), "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244");
  EXPECT_EQ(expanded(key, counting_bytes(0xb0, 0xff), 82),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
            "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
            "cc30c58179ec3e87c14c01d5c1f3434f1d87");
}

TEST(Hkdf, extract_expand__rfc_5869_case_3_no_salt_no_info) {
  const std::vector<std::byte> input(22, std::byte{0x0b});
  const Sha256Digest key = hkdf_extract({}, input);
  EXPECT_EQ(hex_of_bytes(key), "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04");
  EXPECT_EQ(expanded(key, {}, 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, expand__longest_output) {
  const Sha256Digest key = hkdf_extract({}, counting_bytes(1, 9));
  std::vector<std::byte> out(255 * kSha256Bytes);
  hkdf_expand(key, {}, out);
  EXPECT_EQ(hex_of_bytes(ByteSpan(out).first(42)), expanded(key, {}, 42));
}

TEST(HkdfDeath, expand__output_too_long_or_empty) {
  const Sha256Digest key{};
  std::vector<std::byte> out(255 * kSha256Bytes + 1);
  EXPECT_DEATH(hkdf_expand(key, {}, out), "kOutBytesMax");
  EXPECT_DEATH(hkdf_expand(key, {}, {}), "out.empty");
  EXPECT_DEATH(hkdf_extract({}, {}), "input.empty");
}

TEST(Hmac, hmac_sha256__rfc_4231_cases) {
  const std::string_view data = "what do ya want for nothing?";
  const std::string_view key = "Jefe";
  EXPECT_EQ(
      hex_of_bytes(hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(data)))),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::vector<std::byte> long_key(131, std::byte{0xaa});
  const std::string_view text = "Test Using Larger Than Block-Size Key - Hash Key First";
  EXPECT_EQ(hex_of_bytes(hmac_sha256(long_key, std::as_bytes(std::span(text)))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, hmac_sha256__nothing_under_no_key) {
  EXPECT_EQ(hex_of_bytes(hmac_sha256({}, {})),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(ConstantTimeEqual, constant_time_equal__sizes_and_each_byte) {
  const std::vector<std::byte> bytes = counting_bytes(1, 40);
  EXPECT_TRUE(constant_time_equal({}, {}));
  EXPECT_TRUE(constant_time_equal(bytes, std::vector<std::byte>(bytes)));
  EXPECT_FALSE(constant_time_equal(bytes, ByteSpan(bytes).first(39)));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> other = bytes;
    other[i] ^= std::byte{0x80};
    EXPECT_FALSE(constant_time_equal(bytes, other)) << i;
  }
}

TEST(SecureRandom, secure_random__fills_and_differs) {
  std::array<std::byte, 64> first{};
  std::array<std::byte, 64> second{};
  ASSERT_TRUE(secure_random(first));
  ASSERT_TRUE(secure_random(second));
  EXPECT_NE(first, second);
  // All of 64 bytes: a zero in each of the last eight has a chance of 2^-64.
  EXPECT_TRUE(
      std::any_of(first.end() - 8, first.end(), [](std::byte b) { return b != std::byte{}; }));
  EXPECT_TRUE(secure_random({}));
}

}  // namespace
}  // namespace zhinu

#include "base/aead.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string_view>
#include <thread>
#include <utility>

#include "base/aead_conformance_test.h"

namespace zhinu {
namespace {

using gmac::KeyBytes;

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

KeyBytes key_of_hex(std::string_view hex) {
  const std::vector<std::byte> bytes = bytes_of_hex(hex);
  KeyBytes key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

Nonce nonce_of_hex(std::string_view hex) {
  const std::vector<std::byte> bytes = bytes_of_hex(hex);
  return {load_le<std::uint32_t>(bytes.data()), load_le<std::uint64_t>(bytes.data() + 4)};
}

Tag tag_of_hex(std::string_view hex) {
  const std::vector<std::byte> bytes = bytes_of_hex(hex);
  Tag tag;
  std::copy(bytes.begin(), bytes.end(), tag.bytes.begin());
  return tag;
}

class Gmac : public ::testing::TestWithParam<GmacKernel> {
 protected:
  void SetUp() override {
    if (!gmac_kernel_available(GetParam())) {
      GTEST_SKIP() << "this CPU lacks the instructions of " << gmac_kernel_name(GetParam());
    }
  }
  GmacKey make_key(const KeyBytes& bytes) const { return GmacKey(bytes, GetParam()); }
  static gmac::TagFunction function(const GmacKey& key) {
    return [&key](Nonce nonce, std::span<const ByteSpan> pieces) { return key.tag(nonce, pieces); };
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Gmac,
                         ::testing::Values(GmacKernel::kEvp, GmacKernel::kPclmul,
                                           GmacKernel::kVpclmul512),
                         [](const auto& param) { return gmac_kernel_name(param.param); });

struct Vector {
  std::string_view key;
  std::string_view nonce;
  std::string_view data;
  std::string_view tag;
};

// The first is test case 1 of the GCM specification, the next two are of NIST's
// gcmEncryptExtIV128.rsp, the last is the 54-byte authentication example of IEEE
// 802.1AE with GCM-AES-128.
constexpr std::array<Vector, 4> kVectors = {{
    {"00000000000000000000000000000000", "000000000000000000000000", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"11754cd72aec309bf52f7687212e8957", "3c819d9a9bed087615030b65", "",
     "250327c674aaf477aef2675748cf6971"},
    {"77be63708971c4e240d1cb79e8d77feb", "e0e00f19fed7ba0136a797f3",
     "7a43ec1d9c0a5a78a0b16533a6213cab", "209fcc8d3675ed938e9c7166709dd946"},
    {"ad7a2bd03eac835a6f620fdcb506b345", "12153524c0895e81b2c28465",
     "d609b1f056637a0d46df998d88e5222ab2c2846512153524c0895e8108000f10"
     "1112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30313233340001",
     "f09478a9b09007d06f46e9b6a1da25dd"},
}};

TEST_P(Gmac, tag__published_vectors) {
  for (const Vector& vector : kVectors) {
    const GmacKey key = make_key(key_of_hex(vector.key));
    const std::vector<std::byte> data = bytes_of_hex(vector.data);
    const Tag tag = key.tag(nonce_of_hex(vector.nonce), data, {});
    EXPECT_TRUE(tag_equal(tag, tag_of_hex(vector.tag))) << vector.key;
  }
}

TEST_P(Gmac, tag__equals_openssl_for_every_length_to_5000) {
  for (const std::uint64_t seed : {10U, 11U}) {
    const KeyBytes bytes = gmac::random_key(seed);
    const GmacKey key = make_key(bytes);
    EXPECT_EQ(gmac::all_lengths(function(key), gmac::Oracle(bytes)), "");
  }
}

TEST_P(Gmac, tag__equals_openssl_at_every_alignment) {
  const KeyBytes bytes = gmac::random_key(12);
  const GmacKey key = make_key(bytes);
  EXPECT_EQ(gmac::all_alignments(function(key), gmac::Oracle(bytes)), "");
}

TEST_P(Gmac, tag__reads_no_byte_outside_of_the_pieces) {
  const KeyBytes bytes = gmac::random_key(13);
  const GmacKey key = make_key(bytes);
  EXPECT_EQ(gmac::no_byte_outside(function(key), gmac::Oracle(bytes)), "");
}

TEST_P(Gmac, tag__any_pieces_of_any_size) {
  EXPECT_TRUE(rc::check([this] {
    const KeyBytes bytes = gmac::random_key(*rc::gen::arbitrary<std::uint64_t>());
    const GmacKey key = make_key(bytes);
    const gmac::Oracle oracle(bytes);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RC_ASSERT(gmac::random_pieces(function(key), oracle, seed, 40, 40).empty());
    RC_ASSERT(gmac::random_pieces(function(key), oracle, seed, 6, 1500).empty());
    RC_ASSERT(gmac::random_pieces(function(key), oracle, seed, 3, 66'000).empty());
  }));
}

TEST_P(Gmac, tag__no_pieces) {
  const KeyBytes bytes = gmac::random_key(14);
  const GmacKey key = make_key(bytes);
  const Tag expected = gmac::Oracle(bytes).tag({3, 4}, {});
  EXPECT_TRUE(tag_equal(key.tag({3, 4}, {}), expected));
  EXPECT_TRUE(tag_equal(key.tag({3, 4}, {}, {}), expected));
}

TEST_P(Gmac, tag__every_bit_of_the_nonce_counts) {
  const GmacKey key = make_key(gmac::random_key(15));
  const std::vector<std::byte> data = gmac::random_bytes(100, 15);
  const Tag tag = key.tag({0, 0}, data, {});
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_FALSE(tag_equal(key.tag({std::uint32_t{1} << bit, 0}, data, {}), tag)) << bit;
  }
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_FALSE(tag_equal(key.tag({0, std::uint64_t{1} << bit}, data, {}), tag)) << bit;
  }
  EXPECT_TRUE(tag_equal(key.tag({0, 0}, data, {}), tag));
}

TEST_P(Gmac, tag__every_bit_of_the_data_counts) {
  const GmacKey key = make_key(gmac::random_key(16));
  for (const std::size_t size : {1U, 20U, 64U, 500U, 1424U}) {
    std::vector<std::byte> data = gmac::random_bytes(size, size);
    const ByteSpan head = ByteSpan(data).first(size / 3);
    const ByteSpan body = ByteSpan(data).subspan(size / 3);
    const Tag tag = key.tag({1, 2}, head, body);
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      data[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(tag_equal(key.tag({1, 2}, head, body), tag)) << bit << " of " << size;
      data[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

TEST_P(Gmac, tag__zeros_appended_are_noticed) {
  const GmacKey key = make_key(gmac::random_key(17));
  const std::vector<std::byte> zeros(64);
  for (std::size_t size = 1; size <= zeros.size(); ++size) {
    const ByteSpan all(zeros);
    EXPECT_FALSE(
        tag_equal(key.tag({1, 2}, all.first(size), {}), key.tag({1, 2}, all.first(size - 1), {})));
  }
}

TEST_P(Gmac, tag__moved_key_gives_the_same) {
  const KeyBytes bytes = gmac::random_key(18);
  GmacKey first = make_key(bytes);
  const std::vector<std::byte> data = gmac::random_bytes(200, 18);
  const Tag tag = first.tag({5, 6}, data, {});
  GmacKey second = std::move(first);
  EXPECT_TRUE(tag_equal(second.tag({5, 6}, data, {}), tag));
  GmacKey third = make_key(gmac::random_key(19));
  EXPECT_FALSE(tag_equal(third.tag({5, 6}, data, {}), tag));
  third = std::move(second);
  EXPECT_TRUE(tag_equal(third.tag({5, 6}, data, {}), tag));
  EXPECT_EQ(third.kernel(), GetParam());
}

TEST_P(Gmac, tag__one_key_on_many_threads) {
  if (GetParam() == GmacKernel::kEvp) GTEST_SKIP() << "an evp key belongs to one thread";
  const KeyBytes bytes = gmac::random_key(20);
  const GmacKey key = make_key(bytes);
  const std::vector<std::byte> data = gmac::random_bytes(3000, 20);
  std::array<bool, 4> equal{};
  std::vector<std::jthread> threads;
  for (std::uint32_t id = 0; id < equal.size(); ++id) {
    threads.emplace_back([&, id] {
      const gmac::Oracle oracle(bytes);
      equal[id] = true;
      for (std::uint64_t counter = 0; counter < 200; ++counter) {
        const Nonce nonce{id, counter};
        const ByteSpan all = ByteSpan(data).first(id + counter * 14);
        equal[id] = equal[id] && tag_equal(key.tag(nonce, all, {}), oracle.tag(nonce, all));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(equal, (std::array<bool, 4>{true, true, true, true}));
}

TEST(GmacKernel, best_gmac_kernel__is_available_and_named) {
  EXPECT_TRUE(gmac_kernel_available(GmacKernel::kEvp));
  EXPECT_TRUE(gmac_kernel_available(best_gmac_kernel()));
  EXPECT_STREQ(gmac_kernel_name(GmacKernel::kEvp), "evp");
  EXPECT_STREQ(gmac_kernel_name(GmacKernel::kPclmul), "pclmul");
  EXPECT_STREQ(gmac_kernel_name(GmacKernel::kVpclmul512), "vpclmul512");
}

TEST(GmacKernelDeath, constructor__kernel_that_the_cpu_lacks) {
  if (gmac_kernel_available(GmacKernel::kVpclmul512)) GTEST_SKIP() << "this CPU has every kernel";
  EXPECT_DEATH(GmacKey(KeyBytes{}, GmacKernel::kVpclmul512), "gmac_kernel_available");
}

TEST(TagEqual, tag_equal__each_byte_counts) {
  const Tag tag = tag_of_hex("000102030405060708090a0b0c0d0e0f");
  EXPECT_TRUE(tag_equal(tag, Tag(tag)));
  for (std::size_t i = 0; i < tag.bytes.size(); ++i) {
    Tag other = tag;
    other.bytes[i] ^= std::byte{0x80};
    EXPECT_FALSE(tag_equal(tag, other)) << i;
  }
}

}  // namespace
}  // namespace zhinu

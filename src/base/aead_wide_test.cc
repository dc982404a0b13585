// The algorithm of the 512-bit kernel over 128-bit registers: what passes here is
// all of aead_vpclmul.cc but its one-line operations, on any CPU with PCLMULQDQ.
#include "base/aead_wide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/aead_conformance_test.h"

namespace zhinu::gmac {
namespace {

struct Emulated512 {
  using Vector = std::array<GmacTable::Block, 4>;

  static Vector zero() { return {}; }
  static Vector load(const void* at) { return load_front(at, sizeof(Vector)); }
  static Vector load_front(const void* at, std::size_t n) {
    Vector v{};
    if (n != 0) std::memcpy(&v, at, n);
    return v;
  }
  static Vector load_into(Vector v, std::size_t k, const std::byte* at, std::size_t n) {
    std::array<std::byte, sizeof(Vector)> bytes;
    std::memcpy(&bytes, &v, sizeof v);
    if (n != 0) std::memcpy(bytes.data() + k, at, n);
    std::memcpy(&v, &bytes, sizeof v);
    return v;
  }
  static Vector load_lanes(const void* at, std::size_t n) {
    return load_front(at, n * sizeof(GmacTable::Block));
  }
  static Vector with_lane(Vector v, std::size_t n, Block block) {
    std::memcpy(&v[n], &block, sizeof block);
    return v;
  }
  static Vector in_lane_0(Block block) { return with_lane({}, 0, block); }
  static Vector added(Vector v, const Vector& w) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i].low ^= w[i].low;
      v[i].high ^= w[i].high;
    }
    return v;
  }
  static Vector added(const Vector& u, const Vector& v, const Vector& w) {
    return added(added(u, v), w);
  }
  ZHINU_WIDE_INLINE static Vector byte_swapped(Vector v) {
    for (GmacTable::Block& lane : v) store(&lane, gmac::byte_swapped(gmac::load(&lane)));
    return v;
  }
  template <int kHalves>
  ZHINU_WIDE_INLINE static Vector multiplied(Vector v, const Vector& w) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      store(&v[i], _mm_clmulepi64_si128(gmac::load(&v[i]), gmac::load(&w[i]), kHalves));
    }
    return v;
  }
  ZHINU_WIDE_INLINE static Block sum_of_lanes(const Vector& v) {
    Block sum = _mm_setzero_si128();
    for (const GmacTable::Block& lane : v) sum = _mm_xor_si128(sum, gmac::load(&lane));
    return sum;
  }
};

__attribute__((target(ZHINU_WIDE_TARGET))) Tag tag_emulated512(const GmacTable& table, Nonce nonce,
                                                               std::span<const ByteSpan> pieces) {
  return tag_wide<Emulated512>(table, nonce, pieces);
}

class WideGhash512 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gmac_kernel_available(GmacKernel::kPclmul)) {
      GTEST_SKIP() << "this CPU lacks the instructions of pclmul";
    }
    key_ = random_key(31);
    table_ = make_table(key_);
  }
  TagFunction function() const {
    return [this](Nonce nonce, std::span<const ByteSpan> pieces) {
      return tag_emulated512(table_, nonce, pieces);
    };
  }
  KeyBytes key_{};
  GmacTable table_;
};

TEST_F(WideGhash512, tag_wide__equals_openssl_for_every_length_to_5000) {
  EXPECT_EQ(all_lengths(function(), Oracle(key_)), "");
}

TEST_F(WideGhash512, tag_wide__equals_openssl_at_every_alignment) {
  EXPECT_EQ(all_alignments(function(), Oracle(key_)), "");
}

TEST_F(WideGhash512, tag_wide__reads_no_byte_outside_of_the_pieces) {
  EXPECT_EQ(no_byte_outside(function(), Oracle(key_)), "");
}

TEST_F(WideGhash512, tag_wide__any_pieces_of_any_size) {
  const Oracle oracle(key_);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    EXPECT_EQ(random_pieces(function(), oracle, seed, 40, 40), "") << seed;
    EXPECT_EQ(random_pieces(function(), oracle, seed, 6, 1500), "") << seed;
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(random_pieces(function(), oracle, seed, 3, 66'000), "") << seed;
  }
}

}  // namespace
}  // namespace zhinu::gmac

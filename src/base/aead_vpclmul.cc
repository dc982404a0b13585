// GMAC with 512-bit carry-less multiplies: the policy of aead_wide.h in AVX-512.
#define ZHINU_WIDE_TARGET \
  "avx,aes,pclmul,ssse3,avx2,bmi2,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi"
#include "base/aead_wide.h"

namespace zhinu::gmac {
namespace {

constexpr std::array<std::uint8_t, 64> kByteIndices = [] {
  std::array<std::uint8_t, 64> indices{};
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::uint8_t>(i);
  return indices;
}();

struct Wide512 {
  using Vector = __m512i;

  ZHINU_WIDE_INLINE static Vector zero() { return _mm512_setzero_si512(); }
  ZHINU_WIDE_INLINE static Vector load(const void* at) { return _mm512_loadu_si512(at); }
  ZHINU_WIDE_INLINE static Vector load_front(const std::byte* at, std::size_t n) {
    return _mm512_maskz_loadu_epi8(first_bytes(n), at);
  }
  ZHINU_WIDE_INLINE static Vector load_into(Vector v, std::size_t k, const std::byte* at,
                                            std::size_t n) {
    const Vector from =
        _mm512_sub_epi8(load(kByteIndices.data()), _mm512_set1_epi8(static_cast<char>(k)));
    const __mmask64 bytes = first_bytes(n) << k;
    return _mm512_mask_permutexvar_epi8(v, bytes, from, load_front(at, n));
  }
  ZHINU_WIDE_INLINE static Vector load_lanes(const void* at, std::size_t n) {
    return _mm512_maskz_loadu_epi64(static_cast<__mmask8>((1U << (2 * n)) - 1), at);
  }
  ZHINU_WIDE_INLINE static Vector byte_swapped(Vector v) {
    constexpr std::int64_t kLow = 0x08090a0b0c0d0e0f;
    constexpr std::int64_t kHigh = 0x0001020304050607;
    return _mm512_shuffle_epi8(
        v, _mm512_set_epi64(kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow));
  }
  ZHINU_WIDE_INLINE static Vector with_lane(Vector v, std::size_t n, Block block) {
    const auto lane = static_cast<__mmask8>(3U << (2 * n));
    return _mm512_mask_broadcast_i64x2(v, lane, block);
  }
  ZHINU_WIDE_INLINE static Vector in_lane_0(Block block) { return _mm512_zextsi128_si512(block); }
  ZHINU_WIDE_INLINE static Vector added(Vector v, Vector w) { return _mm512_xor_si512(v, w); }
  ZHINU_WIDE_INLINE static Vector added(Vector u, Vector v, Vector w) {
    constexpr int kXor3 = 0x96;
    return _mm512_ternarylogic_epi64(u, v, w, kXor3);
  }
  template <int kHalves>
  ZHINU_WIDE_INLINE static Vector multiplied(Vector v, Vector w) {
    return _mm512_clmulepi64_epi128(v, w, kHalves);
  }
  ZHINU_WIDE_INLINE static Block sum_of_lanes(Vector v) {
    // Not _mm512_extracti64x4_epi64: gcc 12 warns of an uninitialised value inside it.
    const __m256i pair =
        __builtin_shufflevector(v, v, 0, 1, 2, 3) ^ __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return __builtin_shufflevector(pair, pair, 0, 1) ^ __builtin_shufflevector(pair, pair, 2, 3);
  }

 private:
  ZHINU_WIDE_INLINE static __mmask64 first_bytes(std::size_t n) {
    return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n));
  }
};

}  // namespace

__attribute__((target(ZHINU_WIDE_TARGET))) Tag tag_vpclmul512(const GmacTable& table, Nonce nonce,
                                                              std::span<const ByteSpan> pieces) {
  return tag_wide<Wide512>(table, nonce, pieces);
}

}  // namespace zhinu::gmac

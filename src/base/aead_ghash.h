// Building blocks of the GMAC kernels, 128 bits wide. Internal to base/aead*.
//
// GHASH multiplies in GF(2^128) with the bits of each byte mirrored (McGrew and
// Viega, "The Galois/Counter Mode of Operation", 2004). A byte-swapped block is
// the whole polynomial mirrored; the product of two mirrored polynomials is one
// bit short of the mirrored product, which is mended once by keeping H * x
// instead of H (Gueron and Kounavis, "Intel Carry-Less Multiplication
// Instruction and its Usage for Computing the GCM Mode", 2010).
//
// All are inlined into functions of the same target or of a wider one. Thread rule:
// pure functions.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aead.h"
#include "base/bytes.h"

#define ZHINU_GHASH_TARGET "avx,aes,pclmul,ssse3"
#define ZHINU_GHASH_INLINE __attribute__((target(ZHINU_GHASH_TARGET), always_inline)) inline

namespace zhinu::gmac {

using Block = __m128i;

// The kernels. `table` was made by make_table; the CPU has the instructions.
GmacTable make_table(std::span<const std::byte, kGmacKeyBytes> key);
Tag tag_pclmul(const GmacTable& table, Nonce nonce, std::span<const ByteSpan> pieces);
Tag tag_vpclmul512(const GmacTable& table, Nonce nonce, std::span<const ByteSpan> pieces);

inline std::size_t total_bytes(std::span<const ByteSpan> pieces) {
  std::size_t bytes = 0;
  for (const ByteSpan piece : pieces) bytes += piece.size();
  return bytes;
}

ZHINU_GHASH_INLINE Block load(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i_u*>(from));
}

ZHINU_GHASH_INLINE void store(void* to, Block block) {
  _mm_storeu_si128(static_cast<__m128i_u*>(to), block);
}

ZHINU_GHASH_INLINE Block byte_swapped(Block block) {
  return _mm_shuffle_epi8(block, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}

// Three products of 64-bit halves, or sums of many such: low * low, high * high,
// and both crossed products added. Sums may be added up before they are reduced,
// which is why one reduction serves up to GmacTable::kPowers blocks.
struct Products {
  Block low;
  Block cross;
  Block high;
};

// The 256-bit value of `products` modulo x^128 + x^127 + x^126 + x^121 + 1, the
// mirrored GCM polynomial: two folds of 64 bits, each one multiplication.
ZHINU_GHASH_INLINE Block reduced(Products products) {
  const Block polynomial = _mm_set1_epi64x(static_cast<std::int64_t>(0xc200000000000000));
  Block low = _mm_xor_si128(products.low, _mm_slli_si128(products.cross, 8));
  const Block high = _mm_xor_si128(products.high, _mm_srli_si128(products.cross, 8));
  Block folded = _mm_clmulepi64_si128(low, polynomial, 0x00);
  low = _mm_xor_si128(low, _mm_shuffle_epi32(folded, 0x4e));
  folded = _mm_clmulepi64_si128(low, polynomial, 0x11);
  return _mm_xor_si128(_mm_xor_si128(high, low), folded);
}

// The last block of GHASH: bits of additional data, and no ciphertext.
ZHINU_GHASH_INLINE Block length_block(std::size_t bytes) {
  return _mm_slli_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(bytes * 8)), 8);
}

ZHINU_GHASH_INLINE Block encrypted(const GmacTable& table, Block block) {
  const std::array<GmacTable::Block, 11>& keys = table.round_keys;
  block = _mm_xor_si128(block, load(&keys[0]));
#pragma GCC unroll 9
  for (std::size_t round = 1; round < 10; ++round) {
    block = _mm_aesenc_si128(block, load(&keys[round]));
  }
  return _mm_aesenclast_si128(block, load(&keys[10]));
}

// AES of the counter block nonce || 1, the pad that hides the hash. It depends on
// nothing else: asked for first, its 11 rounds run in the shadow of the hash.
ZHINU_GHASH_INLINE Block tag_pad(const GmacTable& table, Nonce nonce) {
  constexpr std::uint64_t kCounterOneBigEndian = std::uint64_t{0x01000000} << 32;
  const std::uint64_t low = nonce.prefix | nonce.counter << 32;
  const std::uint64_t high = nonce.counter >> 32 | kCounterOneBigEndian;
  return encrypted(table,
                   _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low)));
}

ZHINU_GHASH_INLINE Tag tag_of(Block hash, Block pad) {
  Tag tag;
  store(tag.bytes.data(), _mm_xor_si128(byte_swapped(hash), pad));
  return tag;
}

}  // namespace zhinu::gmac

// GMAC over vectors of four blocks, the algorithm of the 512-bit kernel. Internal
// to base/aead*.
//
// The algorithm is a template over a policy of one-line operations, so that a
// machine with only 128-bit multiplies can prove it: Wide512 in aead_vpclmul.cc
// is AVX-512, Emulated512 in the test has four 128-bit registers and the same
// operations. A policy has
//
//   Vector                      64 bytes, lanes 0...3 of one block each
//   zero()                      all zero
//   load(at)                    64 bytes, any alignment
//   load_front(at, n)           n <= 64 bytes, zeros behind; reads no others
//   load_into(v, k, at, n)      v, with the n bytes at `at` from byte k on; reads no others
//   load_lanes(at, n)           n <= 4 blocks, zeros behind; reads no others
//   byte_swapped(v)             each block byte-swapped
//   with_lane(v, n, block)      v, with lane n replaced
//   in_lane_0(block)            zeros in the other lanes
//   added(v, w)                 v xor w
//   added(u, v, w)              u xor v xor w
//   multiplied<kHalves>(v, w)   as _mm_clmulepi64_si128, in each lane
//   sum_of_lanes(v)             the xor of the four blocks
//
// Schoolbook and not Karatsuba: on Intel the multiply and the shuffles that
// Karatsuba needs share a port, and the fourth product costs less than they do.
//
// The including file defines ZHINU_WIDE_TARGET, the target of its policy, since
// a target attribute cannot depend on a template's argument. Thread rule: pure
// functions of their arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aead_ghash.h"

#ifndef ZHINU_WIDE_TARGET
#define ZHINU_WIDE_TARGET ZHINU_GHASH_TARGET
#endif
#define ZHINU_WIDE_INLINE __attribute__((target(ZHINU_WIDE_TARGET), always_inline)) inline

namespace zhinu::gmac {

template <class Policy>
class WideGhash {
 public:
  ZHINU_WIDE_INLINE WideGhash(const GmacTable& table, std::size_t bytes)
      : table_(table), bytes_(bytes), blocks_left_((bytes + kBlockBytes - 1) / kBlockBytes) {
    start_chunk();
  }

  ZHINU_WIDE_INLINE void absorb(ByteSpan piece) {
    const std::byte* at = piece.data();
    std::size_t left = piece.size();
    if (carry_bytes_ != 0) {
      const std::size_t taken = std::min(kVectorBytes - carry_bytes_, left);
      carry_ = Policy::load_into(carry_, carry_bytes_, at, taken);
      carry_bytes_ += taken;
      if (carry_bytes_ < kVectorBytes) return;
      at += taken;
      left -= taken;
      absorb_vector(carry_);
      end_chunk_if_full();
    }
    absorb_vectors(at, left / kVectorBytes);
    carry_bytes_ = left % kVectorBytes;
    carry_ = Policy::load_front(at + (left - carry_bytes_), carry_bytes_);
  }

  ZHINU_WIDE_INLINE Block finish() {
    // The length block takes the lane behind the last block, if there is one free.
    std::size_t carry_blocks = (carry_bytes_ + kBlockBytes - 1) / kBlockBytes;
    if (carry_blocks == kLanes) {
      absorb_vector(carry_);
      end_chunk_if_full();
      carry_blocks = 0;
      carry_ = Policy::zero();
    }
    const Vector last =
        Policy::with_lane(Policy::byte_swapped(carry_), carry_blocks, length_block(bytes_));
    add(last, Policy::load_lanes(&table_.powers[power_], carry_blocks + 1));
    return total();
  }

 private:
  using Vector = typename Policy::Vector;
  static constexpr std::size_t kBlockBytes = 16;
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kVectorBytes = kLanes * kBlockBytes;

  // A chunk is what one reduction serves: 32 blocks or, at the end of the stream,
  // those that are left and the length block.
  ZHINU_WIDE_INLINE void start_chunk() {
    const bool is_last = blocks_left_ < GmacTable::kPowers;
    power_ = is_last ? GmacTable::kPowers - 1 - blocks_left_ : 0;
    blocks_left_ -= is_last ? blocks_left_ : GmacTable::kPowers;
    low_ = high_ = cross_ = Policy::zero();
  }

  ZHINU_WIDE_INLINE void end_chunk_if_full() {
    if (power_ < GmacTable::kPowers) return;
    hash_ = total();
    start_chunk();
  }

  ZHINU_WIDE_INLINE void absorb_vectors(const std::byte* at, std::size_t vectors) {
    while (vectors != 0) {
      const std::size_t run = std::min(vectors, (GmacTable::kPowers - power_) / kLanes);
      for (const std::byte* end = at + run * kVectorBytes; at != end; at += kVectorBytes) {
        absorb_vector(Policy::load(at));
      }
      vectors -= run;
      end_chunk_if_full();
    }
  }

  ZHINU_WIDE_INLINE void absorb_vector(Vector bytes) {
    add(Policy::byte_swapped(bytes), Policy::load(&table_.powers[power_]));
    power_ += kLanes;
  }

  ZHINU_WIDE_INLINE void add(Vector blocks, Vector powers) {
    // The hash of the chunks before joins the first block of the next.
    blocks = Policy::added(blocks, Policy::in_lane_0(hash_));
    hash_ = _mm_setzero_si128();
    low_ = Policy::added(low_, Policy::template multiplied<0x00>(blocks, powers));
    high_ = Policy::added(high_, Policy::template multiplied<0x11>(blocks, powers));
    cross_ = Policy::added(cross_, Policy::template multiplied<0x01>(blocks, powers),
                           Policy::template multiplied<0x10>(blocks, powers));
  }

  ZHINU_WIDE_INLINE Block total() const {
    return reduced(
        {Policy::sum_of_lanes(low_), Policy::sum_of_lanes(cross_), Policy::sum_of_lanes(high_)});
  }

  const GmacTable& table_;
  const std::size_t bytes_;
  std::size_t blocks_left_;  // blocks of data after this chunk
  std::size_t power_ = 0;    // index of the power that the next block meets
  Vector low_ = Policy::zero();
  Vector high_ = Policy::zero();
  Vector cross_ = Policy::zero();
  Block hash_ = _mm_setzero_si128();
  Vector carry_ = Policy::zero();  // the bytes of a vector begun, zeros behind
  std::size_t carry_bytes_ = 0;    // 0...63
};

template <class Policy>
ZHINU_WIDE_INLINE Tag tag_wide(const GmacTable& table, Nonce nonce,
                               std::span<const ByteSpan> pieces) {
  const Block pad = tag_pad(table, nonce);
  WideGhash<Policy> hash(table, total_bytes(pieces));
  for (const ByteSpan piece : pieces) hash.absorb(piece);
  return tag_of(hash.finish(), pad);
}

}  // namespace zhinu::gmac

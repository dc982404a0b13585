// GMAC with 128-bit carry-less multiplies.
//
// What limits it is the multiplier: three products a block (Karatsuba) and one
// reduction for 32 blocks. Blocks go in pairs, since one unpack of two blocks
// makes both Karatsuba operands. docs/adr/0001-gmac.md has the bound, what is
// reached and the designs that were slower.
#include "base/aead_ghash.h"

namespace zhinu::gmac {
namespace {

constexpr std::size_t kBlockBytes = 16;
constexpr std::size_t kChunkBytes = GmacTable::kPowers * kBlockBytes;

// Shuffle indices: sixteen bytes read at kWindow + 16 + n move a block n bytes
// down, at kWindow + 16 - n they move it n bytes up, and zeros come in.
alignas(16) constexpr std::array<std::int8_t, 48> kWindow = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,  //
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
};

ZHINU_GHASH_INLINE Block moved_down(Block block, std::size_t bytes) {
  return _mm_shuffle_epi8(block, load(kWindow.data() + kBlockBytes + bytes));
}

ZHINU_GHASH_INLINE Block moved_up(Block block, std::size_t bytes) {
  return _mm_shuffle_epi8(block, load(kWindow.data() + kBlockBytes - bytes));
}

// The first `bytes` < 16 at `from`, then zeros. Loads that overlap, and no copy
// through memory, which would wait for the store buffer.
ZHINU_GHASH_INLINE Block load_short(const std::byte* from, std::size_t bytes) {
  if (bytes >= 8) {
    const Block first = _mm_cvtsi64_si128(load_le<std::int64_t>(from));
    const Block last = _mm_cvtsi64_si128(load_le<std::int64_t>(from + bytes - 8));
    const Block beyond_first = moved_down(last, 16 - bytes);
    return _mm_unpacklo_epi64(first, beyond_first);
  }
  std::uint64_t value = 0;
  if (bytes >= 4) {
    const std::uint64_t last = load_le<std::uint32_t>(from + bytes - 4);
    value = load_le<std::uint32_t>(from) | last << (8 * (bytes - 4));
  } else if (bytes != 0) {
    value = std::to_integer<std::uint64_t>(from[0]) |
            std::to_integer<std::uint64_t>(from[bytes / 2]) << (8 * (bytes / 2)) |
            std::to_integer<std::uint64_t>(from[bytes - 1]) << (8 * (bytes - 1));
  }
  return _mm_cvtsi64_si128(static_cast<std::int64_t>(value));
}

// Sums of products that wait for one reduction.
struct Sums {
  Block low = _mm_setzero_si128();
  Block high = _mm_setzero_si128();
  Block halves = _mm_setzero_si128();  // of (low + high) * (low' + high')
};

ZHINU_GHASH_INLINE void add_one(Sums& sums, const GmacTable& table, std::size_t power,
                                Block block) {
  const Block factor = load(&table.powers[power]);
  const void* factor_halves_at = &table.power_halves[power];
  const Block factor_halves = _mm_loadl_epi64(static_cast<const __m128i_u*>(factor_halves_at));
  const Block halves = _mm_xor_si128(block, _mm_shuffle_epi32(block, 0x4e));
  sums.low = _mm_xor_si128(sums.low, _mm_clmulepi64_si128(block, factor, 0x00));
  sums.high = _mm_xor_si128(sums.high, _mm_clmulepi64_si128(block, factor, 0x11));
  sums.halves = _mm_xor_si128(sums.halves, _mm_clmulepi64_si128(halves, factor_halves, 0x00));
}

// `a` meets the power of that index, `b` the next.
ZHINU_GHASH_INLINE void add_pair(Sums& sums, const GmacTable& table, std::size_t power, Block a,
                                 Block b) {
  Block factor_a = load(&table.powers[power]);
  Block factor_b = load(&table.powers[power + 1]);
  Block factor_halves = load(&table.power_halves[power]);
  Block halves = _mm_xor_si128(_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b));
  // The two empty statements keep the six multiplies together. Zen 2 reads them from
  // microcode and pays a cycle for each way in: clang, left alone, puts an xor after
  // each of them and is 15 % slower.
  asm("" : "+x"(a), "+x"(b), "+x"(halves), "+x"(factor_a), "+x"(factor_b), "+x"(factor_halves));
  Block low_a = _mm_clmulepi64_si128(a, factor_a, 0x00);
  Block high_a = _mm_clmulepi64_si128(a, factor_a, 0x11);
  Block low_b = _mm_clmulepi64_si128(b, factor_b, 0x00);
  Block high_b = _mm_clmulepi64_si128(b, factor_b, 0x11);
  Block halves_a = _mm_clmulepi64_si128(halves, factor_halves, 0x00);
  Block halves_b = _mm_clmulepi64_si128(halves, factor_halves, 0x11);
  asm("" : "+x"(low_a), "+x"(low_b), "+x"(high_a), "+x"(high_b), "+x"(halves_a), "+x"(halves_b));
  sums.low = _mm_xor_si128(sums.low, _mm_xor_si128(low_a, low_b));
  sums.high = _mm_xor_si128(sums.high, _mm_xor_si128(high_a, high_b));
  sums.halves = _mm_xor_si128(sums.halves, _mm_xor_si128(halves_a, halves_b));
}

// Karatsuba: the crossed products are those of the halves less the other two.
ZHINU_GHASH_INLINE Block total(const Sums& sums) {
  const Block cross = _mm_xor_si128(sums.halves, _mm_xor_si128(sums.low, sums.high));
  return reduced({sums.low, cross, sums.high});
}

// For data that no cache holds, such as a gradient bucket that is sent for the first
// time: 8 KiB from memory take 1720 ns and not 1840 on Zen 2, and nothing is lost
// where the data is near.
ZHINU_GHASH_INLINE void prefetch_chunk(const std::byte* at) {
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t line = 0; line < kChunkBytes; line += kLineBytes) {
    _mm_prefetch(at + line, _MM_HINT_T0);
  }
}

// Whole chunks of 32 blocks: the loop in which a large packet spends its time.
__attribute__((target(ZHINU_GHASH_TARGET), noinline)) Block absorb_chunks(const GmacTable& table,
                                                                          Block hash,
                                                                          const std::byte* at,
                                                                          std::size_t chunks) {
  for (; chunks != 0; --chunks) {
    if (chunks != 1) prefetch_chunk(at + kChunkBytes);
    Sums sums;
    add_pair(sums, table, 0, _mm_xor_si128(byte_swapped(load(at)), hash),
             byte_swapped(load(at + kBlockBytes)));
    // Not unrolled: a longer loop is slower on Zen 2 (gcc 8 %).
#pragma GCC unroll 1
    for (std::size_t i = 2; i < GmacTable::kPowers; i += 2) {
      add_pair(sums, table, i, byte_swapped(load(at + i * kBlockBytes)),
               byte_swapped(load(at + (i + 1) * kBlockBytes)));
    }
    hash = total(sums);
    at += kChunkBytes;
  }
  return hash;
}

// GHASH of bytes that come in pieces. A chunk is what one reduction serves: 32
// blocks or, at the end of the stream, those that are left and the length block.
// With kOneChunk there are at most kBytesOfOneChunk, and all that joins chunks
// falls away, which is a quarter of the instructions of a 64-byte packet.
template <bool kOneChunk>
class Ghash {
 public:
  ZHINU_GHASH_INLINE Ghash(const GmacTable& table, std::size_t bytes)
      : table_(table), bytes_(bytes), blocks_left_((bytes + kBlockBytes - 1) / kBlockBytes) {
    start_chunk();
  }

  // `piece` is not empty.
  ZHINU_GHASH_INLINE void absorb(ByteSpan piece) {
    const std::byte* at = piece.data();
    const std::byte* end = at + piece.size();
    std::size_t left = piece.size();
    if (carry_bytes_ != 0) {
      const Block next = left >= kBlockBytes ? load(at) : load_short(at, left);
      carry_ = _mm_or_si128(carry_, moved_up(next, carry_bytes_));
      if (carry_bytes_ + left < kBlockBytes) {
        carry_bytes_ += left;
        return;
      }
      at += kBlockBytes - carry_bytes_;
      left -= kBlockBytes - carry_bytes_;
      absorb_block(byte_swapped(carry_));
    }
    if (left >= kBlockBytes) absorb_blocks(at, left / kBlockBytes);
    carry_bytes_ = left % kBlockBytes;
    carry_ = piece.size() >= kBlockBytes
                 ? moved_down(load(end - kBlockBytes), kBlockBytes - carry_bytes_)
                 : load_short(end - carry_bytes_, carry_bytes_);
  }

  ZHINU_GHASH_INLINE Block finish() {
    const Block length = length_block(bytes_);
    if (carry_bytes_ != 0) {
      if (kOneChunk || power_ == GmacTable::kPowers - 2) {
        add_pair(sums_, table_, power_, plus_hash(byte_swapped(carry_)), length);
        return total(sums_);
      }
      absorb_block(byte_swapped(carry_));
    }
    add_one(sums_, table_, power_, plus_hash(length));
    return total(sums_);
  }

 private:
  ZHINU_GHASH_INLINE void start_chunk() {
    const bool is_last = kOneChunk || blocks_left_ < GmacTable::kPowers;
    power_ = is_last ? GmacTable::kPowers - 1 - blocks_left_ : 0;
    blocks_left_ -= is_last ? blocks_left_ : GmacTable::kPowers;
    sums_ = Sums{};
  }

  ZHINU_GHASH_INLINE void end_chunk_if_full() {
    if (kOneChunk || power_ < GmacTable::kPowers) return;
    hash_ = total(sums_);
    start_chunk();
  }

  // The hash of the chunks before joins the first block of the next.
  ZHINU_GHASH_INLINE Block plus_hash(Block block) {
    if (kOneChunk) return block;
    const Block sum = _mm_xor_si128(block, hash_);
    hash_ = _mm_setzero_si128();
    return sum;
  }

  ZHINU_GHASH_INLINE void absorb_block(Block block) {
    add_one(sums_, table_, power_, plus_hash(block));
    ++power_;
    end_chunk_if_full();
  }

  // `blocks` is not 0.
  ZHINU_GHASH_INLINE void absorb_blocks(const std::byte* at, std::size_t blocks) {
    if (kOneChunk) return absorb_run(at, blocks);
    if (power_ != 0) {
      const std::size_t room = GmacTable::kPowers - power_;
      const std::size_t run = blocks < room ? blocks : room;
      absorb_run(at, run);
      at += run * kBlockBytes;
      blocks -= run;
    }
    const std::size_t chunks = blocks / GmacTable::kPowers;
    if (chunks != 0) {
      hash_ = absorb_chunks(table_, hash_, at, chunks);
      at += chunks * kChunkBytes;
      blocks %= GmacTable::kPowers;
      blocks_left_ -= (chunks - 1) * GmacTable::kPowers;
      start_chunk();
    }
    if (blocks != 0) absorb_run(at, blocks);
  }

  // `blocks` is not 0, and no more than the chunk has room for.
  ZHINU_GHASH_INLINE void absorb_run(const std::byte* at, std::size_t blocks) {
    const std::byte* end = at + blocks * kBlockBytes;
    const Block first = plus_hash(byte_swapped(load(at)));
    if (blocks % 2 != 0) {
      add_one(sums_, table_, power_, first);
      power_ += 1;
      at += kBlockBytes;
    } else {
      add_pair(sums_, table_, power_, first, byte_swapped(load(at + kBlockBytes)));
      power_ += 2;
      at += 2 * kBlockBytes;
    }
#pragma GCC unroll 1
    for (; at != end; at += 2 * kBlockBytes) {
      add_pair(sums_, table_, power_, byte_swapped(load(at)), byte_swapped(load(at + kBlockBytes)));
      power_ += 2;
    }
    end_chunk_if_full();
  }

  const GmacTable& table_;
  const std::size_t bytes_;
  std::size_t blocks_left_;  // blocks of data after this chunk
  std::size_t power_ = 0;    // index of the power that the next block meets
  Sums sums_;                // of this chunk
  Block hash_ = _mm_setzero_si128();
  Block carry_ = _mm_setzero_si128();  // the bytes of a block begun, zeros behind
  std::size_t carry_bytes_ = 0;        // 0...15
};

constexpr std::size_t kBytesOfOneChunk = (GmacTable::kPowers - 1) * kBlockBytes;

template <bool kOneChunk>
__attribute__((target(ZHINU_GHASH_TARGET), noinline)) Tag tag_chunks(
    const GmacTable& table, Nonce nonce, std::span<const ByteSpan> pieces, std::size_t bytes) {
  const Block pad = tag_pad(table, nonce);
  Ghash<kOneChunk> hash(table, bytes);
  for (const ByteSpan piece : pieces) {
    if (!piece.empty()) hash.absorb(piece);
  }
  return tag_of(hash.finish(), pad);
}

}  // namespace

Tag tag_pclmul(const GmacTable& table, Nonce nonce, std::span<const ByteSpan> pieces) {
  const std::size_t bytes = total_bytes(pieces);
  if (bytes <= kBytesOfOneChunk) return tag_chunks<true>(table, nonce, pieces, bytes);
  return tag_chunks<false>(table, nonce, pieces, bytes);
}

}  // namespace zhinu::gmac

// The key-dependent table of the GMAC kernels: AES-128 key schedule and powers of H.
#include "base/aead_ghash.h"

namespace zhinu::gmac {
namespace {

// One step of the AES-128 key schedule (FIPS 197, section 5.2); `assist` is the
// result of AESKEYGENASSIST, whose last word is RotWord, SubWord and round constant.
ZHINU_GHASH_INLINE Block next_round_key(Block key, Block assist) {
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
  return _mm_xor_si128(key, _mm_shuffle_epi32(assist, 0xff));
}

// The round constant is part of the instruction, hence a template and not a loop.
template <int kRoundConstant>
ZHINU_GHASH_INLINE Block next_round_key(Block key) {
  return next_round_key(key, _mm_aeskeygenassist_si128(key, kRoundConstant));
}

__attribute__((target(ZHINU_GHASH_TARGET))) void expand_key(Block key, GmacTable& table) {
  Block keys[11] = {key};
  keys[1] = next_round_key<0x01>(keys[0]);
  keys[2] = next_round_key<0x02>(keys[1]);
  keys[3] = next_round_key<0x04>(keys[2]);
  keys[4] = next_round_key<0x08>(keys[3]);
  keys[5] = next_round_key<0x10>(keys[4]);
  keys[6] = next_round_key<0x20>(keys[5]);
  keys[7] = next_round_key<0x40>(keys[6]);
  keys[8] = next_round_key<0x80>(keys[7]);
  keys[9] = next_round_key<0x1b>(keys[8]);
  keys[10] = next_round_key<0x36>(keys[9]);
  for (std::size_t round = 0; round < 11; ++round) store(&table.round_keys[round], keys[round]);
}

// block * x modulo the polynomial, without a branch on the secret.
GmacTable::Block times_x(GmacTable::Block block) {
  const std::uint64_t carry = block.high >> 63;
  GmacTable::Block result{};
  result.high = (block.high << 1 | block.low >> 63) ^ (carry * 0xc200000000000000);
  result.low = (block.low << 1) ^ carry;
  return result;
}

ZHINU_GHASH_INLINE Block product(Block a, Block b) {
  return reduced({_mm_clmulepi64_si128(a, b, 0x00),
                  _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)),
                  _mm_clmulepi64_si128(a, b, 0x11)});
}

}  // namespace

__attribute__((target(ZHINU_GHASH_TARGET))) GmacTable make_table(
    std::span<const std::byte, kGmacKeyBytes> key) {
  GmacTable table;
  expand_key(load(key.data()), table);

  GmacTable::Block hash_key{};
  store(&hash_key, byte_swapped(encrypted(table, _mm_setzero_si128())));
  hash_key = times_x(hash_key);
  const Block first_power = load(&hash_key);
  Block power = first_power;
  for (std::size_t i = GmacTable::kPowers; i-- != 0;) {
    store(&table.powers[i], power);
    table.power_halves[i] = table.powers[i].low ^ table.powers[i].high;
    power = product(power, first_power);
  }
  return table;
}

}  // namespace zhinu::gmac

// A seeded pseudo-random generator with the same stream on every compiler.
//
// Not for secrets: keys, nonces and cookies come from the caller's entropy.
// Algorithms: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) to spread the seed,
// xoshiro256** (Blackman, Vigna, 2018) for the stream.
// Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"

namespace zhinu {

constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// A well-mixed 64-bit hash of one or two words.
constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b = 0) {
  std::uint64_t state = a ^ (b * 0xff51afd7ed558ccdULL);
  return splitmix64(state);
}

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) {
    for (auto& word : state_) word = splitmix64(seed);
  }
  // An independent stream for `entity`, so that adding one entity does not
  // change what the others draw.
  constexpr Prng(std::uint64_t seed, std::uint64_t entity) : Prng(mix64(seed, entity)) {}

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    ZHINU_ASSERT(bound > 0);
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  // Uniform in [low, high], both included.
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t span = high - low + 1;  // 0: all of 64 bits
    return span == 0 ? next() : low + below(span);
  }
  // True with probability `per_million` / 1,000,000; integers keep runs equal
  // across compilers.
  constexpr bool chance(std::uint32_t per_million) { return below(1'000'000) < per_million; }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace zhinu

// Little-endian loads and stores, and spans of bytes.
//
// The wire is little-endian. Loads and stores compile to one move on the
// machines we run on; callers check bounds first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace zhinu {

static_assert(std::endian::native == std::endian::little,
              "a big-endian port must swap in load_le and store_le");

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

template <class T>
inline T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store_le(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Copies bytes that do not overlap. Up to this many are copied inline, where a call of memcpy
// would cost as much as all else that is done for a short message.
inline constexpr std::size_t kInlineCopyBytesMax = 256;

// The first and the last T of the bytes, which may overlap: sizeof(T) to twice as many bytes.
template <class T>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto first = load_le<T>(from);
  const auto last = load_le<T>(from + bytes - sizeof(T));
  store_le(to, first);
  store_le(to + bytes - sizeof(T), last);
}

inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Word = std::uint64_t;
  using Pair [[gnu::vector_size(16)]] = Word;
  constexpr std::size_t kBlock = 2 * sizeof(Pair);
  if (bytes < sizeof(Word) || bytes > kInlineCopyBytesMax) {
    // memcpy may not be given the null pointer of an empty message.
    if (bytes > 0) std::memcpy(to, from, bytes);
  } else if (bytes <= sizeof(Pair)) {
    copy_ends<Word>(to, from, bytes);
  } else if (bytes <= kBlock) {
    copy_ends<Pair>(to, from, bytes);
  } else {
    // The last block may overlap the one before.
    const std::size_t last = bytes - kBlock;
    for (std::size_t at = 0; at < last; at += kBlock) {
      copy_ends<Pair>(to + at, from + at, kBlock);
    }
    copy_ends<Pair>(to + last, from + last, kBlock);
  }
}

}  // namespace zhinu

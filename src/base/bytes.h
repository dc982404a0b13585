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

// Copies bytes that do not overlap. Up to this many are copied 16 at a time, where a call of
// memcpy would cost as much as all else that is done for a short message.
inline constexpr std::size_t kInlineCopyBytesMax = 256;

inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  struct Block {
    std::uint64_t low;
    std::uint64_t high;
  };
  if (bytes == 0) return;  // memcpy may not be given the null pointer of an empty message
  if (bytes < sizeof(Block) || bytes > kInlineCopyBytesMax) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::size_t i = 0;
  do {
    store_le(to + i, load_le<Block>(from + i));
    i += sizeof(Block);
  } while (i + sizeof(Block) <= bytes);
  // The last block may overlap the one before.
  store_le(to + bytes - sizeof(Block), load_le<Block>(from + bytes - sizeof(Block)));
}

}  // namespace zhinu

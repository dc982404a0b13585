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

}  // namespace zhinu

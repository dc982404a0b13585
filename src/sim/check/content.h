// Bytes that tell where they belong: each word is a function of a key and its position.
//
// The key names the seed and the message, so that a byte of another message, of
// another offset or of memory that nobody wrote is found. Filling and checking run
// at the speed of memory. Thread rule: none needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/prng.h"

namespace zhinu::sim::check {

// What is written over memory that was given back, and around buffers.
inline constexpr std::byte kPoison{0xdb};

constexpr std::uint64_t content_key(std::uint64_t seed, std::uint64_t object) {
  return mix64(seed, object);
}

// The bytes at [offset, offset + out.size()) of the content of `key`.
void fill_content(std::uint64_t key, std::uint64_t offset, MutableByteSpan out);

inline constexpr std::size_t kAllRight = SIZE_MAX;
// Index of the first byte that is not as fill_content would make it, or kAllRight.
std::size_t first_wrong(std::uint64_t key, std::uint64_t offset, ByteSpan bytes);

// Index of the first byte that is not poison, or kAllRight.
std::size_t first_unpoisoned(ByteSpan bytes);

// Hash of some bytes, to see later whether they changed.
std::uint64_t hash_of(ByteSpan bytes);

}  // namespace zhinu::sim::check

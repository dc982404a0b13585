// What every GMAC kernel must pass, whoever runs it: OpenSSL's tag, bit by bit.
//
// A kernel under test is a TagFunction. Each check answers with a description of
// the first tag that differs, or an empty string. Thread rule: one thread.
#pragma once

#include <openssl/evp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/prng.h"

namespace zhinu::gmac {

using KeyBytes = std::array<std::byte, kGmacKeyBytes>;
using TagFunction = std::function<Tag(Nonce, std::span<const ByteSpan>)>;

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.below(256));
  return bytes;
}

inline KeyBytes random_key(std::uint64_t seed) {
  const std::vector<std::byte> bytes = random_bytes(kGmacKeyBytes, seed);
  KeyBytes key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

// AES-128-GCM of OpenSSL with `data` as additional data, by the plain one-shot
// calls, so that it shares nothing with the kEvp kernel but the library.
class Oracle {
 public:
  explicit Oracle(const KeyBytes& key) : key_(key), context_(EVP_CIPHER_CTX_new()) {}

  Tag tag(Nonce nonce, ByteSpan data) const {
    std::array<unsigned char, 12> iv;
    for (std::size_t i = 0; i < 4; ++i) iv[i] = static_cast<unsigned char>(nonce.prefix >> 8 * i);
    for (std::size_t i = 0; i < 8; ++i) {
      iv[4 + i] = static_cast<unsigned char>(nonce.counter >> 8 * i);
    }
    const auto* key = reinterpret_cast<const unsigned char*>(key_.data());
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    Tag tag;
    int written = 0;
    std::array<unsigned char, 16> rest;
    ZHINU_ASSERT(EVP_EncryptInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key, iv.data()));
    if (!data.empty()) {
      const int size = static_cast<int>(data.size());
      ZHINU_ASSERT(EVP_EncryptUpdate(context_.get(), nullptr, &written, bytes, size));
    }
    ZHINU_ASSERT(EVP_EncryptFinal_ex(context_.get(), rest.data(), &written));
    ZHINU_ASSERT(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.bytes.data()));
    return tag;
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  KeyBytes key_;
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

// Bytes that end, and others that begin, at a page that nobody may read.
class GuardedBytes {
 public:
  GuardedBytes() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* mapped = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ZHINU_ASSERT(mapped != MAP_FAILED);
    first_ = static_cast<std::byte*>(mapped);
    ZHINU_ASSERT(mprotect(first_ + page_, page_, PROT_READ | PROT_WRITE) == 0);
    const std::vector<std::byte> bytes = random_bytes(page_, 77);
    std::copy(bytes.begin(), bytes.end(), first_ + page_);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(first_, 3 * page_); }

  ByteSpan at_the_end(std::size_t bytes) const { return {first_ + 2 * page_ - bytes, bytes}; }
  ByteSpan at_the_begin(std::size_t bytes) const { return {first_ + page_, bytes}; }

 private:
  std::size_t page_;
  std::byte* first_;
};

inline bool same(const TagFunction& kernel, const Oracle& oracle, Nonce nonce,
                 std::span<const ByteSpan> pieces) {
  std::vector<std::byte> all;
  for (const ByteSpan piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return tag_equal(kernel(nonce, pieces), oracle.tag(nonce, all));
}

// Heads on both sides of every border of a block, a vector and a chunk.
inline constexpr std::array kHeadBytes = {0,  1,  3,  4,  7,  8,  9,  15,  16,  17,  20,
                                          31, 32, 33, 36, 63, 64, 65, 127, 300, 495, 512};

inline std::string all_lengths(const TagFunction& kernel, const Oracle& oracle) {
  constexpr std::size_t kBytesMax = 5000;
  const std::vector<std::byte> bytes = random_bytes(kBytesMax + 64, 1);
  for (std::size_t size = 0; size <= kBytesMax; ++size) {
    const ByteSpan data = ByteSpan(bytes).subspan(size % 64, size);
    const Nonce nonce{static_cast<std::uint32_t>(size), size * 0x9e3779b97f4a7c15};
    const Tag expected = oracle.tag(nonce, data);
    for (const int head_bytes : kHeadBytes) {
      const auto cut = static_cast<std::size_t>(head_bytes);
      if (cut > size) break;
      const std::array<ByteSpan, 2> pieces = {data.first(cut), data.subspan(cut)};
      if (!tag_equal(kernel(nonce, pieces), expected)) {
        return "head " + std::to_string(cut) + ", all " + std::to_string(size);
      }
    }
  }
  return "";
}

inline std::string all_alignments(const TagFunction& kernel, const Oracle& oracle) {
  const std::vector<std::byte> bytes = random_bytes(2048, 2);
  for (std::size_t offset = 0; offset < 64; ++offset) {
    for (std::size_t size = 0; size <= 160; ++size) {
      const std::array<ByteSpan, 2> pieces = {ByteSpan(bytes).subspan(63 - offset, size % 41),
                                              ByteSpan(bytes).subspan(256 + offset, size)};
      if (!same(kernel, oracle, {1, size}, pieces)) {
        return "offset " + std::to_string(offset) + ", size " + std::to_string(size);
      }
    }
  }
  return "";
}

// A read outside of the pieces ends the test program.
inline std::string no_byte_outside(const TagFunction& kernel, const Oracle& oracle) {
  const GuardedBytes head;
  const GuardedBytes body;
  for (std::size_t head_bytes = 0; head_bytes <= 130; ++head_bytes) {
    for (std::size_t body_bytes = 0; body_bytes <= 130; ++body_bytes) {
      const std::array<std::array<ByteSpan, 2>, 2> cases = {{
          {head.at_the_end(head_bytes), body.at_the_end(body_bytes)},
          {head.at_the_begin(head_bytes), body.at_the_begin(body_bytes)},
      }};
      for (const auto& pieces : cases) {
        if (!same(kernel, oracle, {2, head_bytes}, pieces)) {
          return std::to_string(head_bytes) + " + " + std::to_string(body_bytes);
        }
      }
    }
  }
  return "";
}

// Up to `pieces_max` pieces of up to `piece_bytes_max` bytes each, at random.
inline std::string random_pieces(const TagFunction& kernel, const Oracle& oracle,
                                 std::uint64_t seed, std::size_t pieces_max,
                                 std::size_t piece_bytes_max) {
  Prng prng(seed);
  const std::vector<std::byte> bytes = random_bytes(piece_bytes_max + 64, seed);
  std::vector<ByteSpan> pieces(prng.below(pieces_max + 1));
  std::string sizes;
  for (ByteSpan& piece : pieces) {
    piece = ByteSpan(bytes).subspan(prng.below(64), prng.below(piece_bytes_max + 1));
    sizes += std::to_string(piece.size()) + " ";
  }
  const Nonce nonce{static_cast<std::uint32_t>(prng.next()), prng.next()};
  return same(kernel, oracle, nonce, pieces) ? "" : "pieces of " + sizes;
}

}  // namespace zhinu::gmac

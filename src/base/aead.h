// AES-128-GMAC: the 16-byte tag that authenticates a packet.
//
// The tag is that of AES-128-GCM with the packet as additional data and no
// plaintext (NIST SP 800-38D), bit for bit; what is sent stays readable. Why
// GMAC, and why kernels of our own: docs/adr/0001-gmac.md.
//
// A nonce is used once under a key. A repeated nonce gives the authentication
// key away, so a retransmission needs a new packet number.
//
// Owner: the GmacKey owns everything it needs, `tag` never allocates, and the
// key bytes are wiped on destruction. Thread rule: `tag` of a kPclmul or
// kVpclmul512 key may run on many threads at once; a kEvp key keeps one OpenSSL
// context, so only one thread at a time may use it. Failure: none; a kernel that
// the CPU lacks is a bug of the caller and asserts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/bytes.h"

struct evp_cipher_ctx_st;

namespace zhinu {

inline constexpr std::size_t kGmacKeyBytes = 16;

// Which code computes the tag. All give the same bits.
enum class GmacKernel : std::uint8_t {
  kEvp,         // OpenSSL, on every machine; about 250 ns a call before the first byte
  kPclmul,      // 128-bit carry-less multiply: AES, PCLMULQDQ and AVX
  kVpclmul512,  // 512-bit carry-less multiply: VPCLMULQDQ, AVX-512 F, BW, DQ, VL, VBMI
};

// Asks the CPU, and the kernel of the system for AVX-512 state. Costs a few loads.
bool gmac_kernel_available(GmacKernel kernel);
// The fastest available. Decide once, at start, print it, and pass it on.
GmacKernel best_gmac_kernel();
const char* gmac_kernel_name(GmacKernel kernel);

// Twelve bytes to AES: `prefix`, then `counter`, both little-endian. Two words and
// not an array, so that a nonce travels in registers.
struct Nonce {
  std::uint32_t prefix = 0;
  std::uint64_t counter = 0;
};

// No operator==: see tag_equal.
struct Tag {
  std::array<std::byte, 16> bytes{};
};

// Takes the same time wherever the two differ, so that a forger learns nothing.
inline bool tag_equal(const Tag& a, const Tag& b) {
  const std::uint64_t low =
      load_le<std::uint64_t>(a.bytes.data()) ^ load_le<std::uint64_t>(b.bytes.data());
  const std::uint64_t high =
      load_le<std::uint64_t>(a.bytes.data() + 8) ^ load_le<std::uint64_t>(b.bytes.data() + 8);
  return (low | high) == 0;
}

// What the kernels read, made from the key once. Internal to base/aead*.
//
// H is the hash key in the kernels' form: byte-swapped and multiplied by x (see
// aead_ghash.h). Powers stand in the order in which blocks meet them, so that
// block i of n meets powers[kPowers - n + i]. A short packet touches six cache
// lines: the end of `powers`, the round keys next to it, the end of the halves.
struct alignas(64) GmacTable {
  static constexpr std::size_t kPowers = 32;
  struct alignas(16) Block {
    std::uint64_t low;
    std::uint64_t high;
  };
  std::array<Block, kPowers> powers{};  // H^32 ... H^1
  std::array<Block, 11> round_keys{};
  std::array<std::uint64_t, kPowers> power_halves{};  // low ^ high, for Karatsuba
};

class GmacKey {
 public:
  GmacKey(std::span<const std::byte, kGmacKeyBytes> key, GmacKernel kernel);
  GmacKey(GmacKey&&) noexcept;
  GmacKey& operator=(GmacKey&&) noexcept;
  ~GmacKey();

  GmacKernel kernel() const { return kernel_; }

  // The tag of all pieces one after another, each of any length, also empty. How
  // the bytes are cut into pieces changes nothing.
  Tag tag(Nonce nonce, std::span<const ByteSpan> pieces) const;
  Tag tag(Nonce nonce, ByteSpan head, ByteSpan body) const {
    const std::array<ByteSpan, 2> pieces = {head, body};
    return tag(nonce, pieces);
  }

 private:
  struct FreeContext {
    void operator()(evp_cipher_ctx_st* context) const;
  };

  GmacTable table_;                                      // zero with kEvp
  std::unique_ptr<evp_cipher_ctx_st, FreeContext> evp_;  // only with kEvp
  GmacKernel kernel_;
};
static_assert(sizeof(GmacKey) == 1024, "part of what a connection costs");

}  // namespace zhinu

// CRC32C (Castagnoli, RFC 3720 appendix B.4): the checksum of packets when
// authentication is off. It finds accidents, not attackers.
//
// Thread rule: pure functions. Failure: none; a kernel that the CPU lacks is a
// bug of the caller and asserts.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace zhinu {

// Which code computes it. All give the same bits.
enum class Crc32cKernel : std::uint8_t {
  kTable,  // eight table look-ups for eight bytes, on every machine
  kSse42,  // the CRC32 instruction in three lanes, joined by PCLMULQDQ
};

bool crc32c_kernel_available(Crc32cKernel kernel);
Crc32cKernel best_crc32c_kernel();
const char* crc32c_kernel_name(Crc32cKernel kernel);

// The checksum of some bytes after bytes whose checksum is `seed`, 0 for none:
// crc32c(k, crc32c(k, 0, a), b) is that of a and b together.
std::uint32_t crc32c(Crc32cKernel kernel, std::uint32_t seed, ByteSpan bytes);

}  // namespace zhinu

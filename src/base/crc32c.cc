#include "base/crc32c.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"

#define ZHINU_CRC32C_TARGET "sse4.2,pclmul"
#define ZHINU_CRC32C_INLINE __attribute__((target(ZHINU_CRC32C_TARGET), always_inline)) inline

namespace zhinu {
namespace {

// A CRC register holds its polynomial mirrored: bit 31 is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0x82f63b78;
constexpr std::size_t kWordBytes = 8;

constexpr std::uint32_t times_x(std::uint32_t crc) {
  return (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
}

constexpr std::uint32_t times_x_to_the(std::uint32_t crc, std::size_t exponent) {
  for (; exponent != 0; --exponent) crc = times_x(crc);
  return crc;
}

// kTables[k][byte] is `byte` in the register, moved on by k + 1 bytes.
using Tables = std::array<std::array<std::uint32_t, 256>, kWordBytes>;
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (auto& table : tables) table[byte] = crc = times_x_to_the(crc, 8);
  }
  return tables;
}
constexpr Tables kTables = make_tables();

// Slicing by eight (Kounavis and Berry, "A Systematic Approach to Building High
// Performance Software-based CRC Generators", 2005).
std::uint32_t crc_by_tables(std::uint32_t crc, ByteSpan bytes) {
  const auto look_up = [](std::size_t bytes_after, std::uint64_t word, int shift) {
    return kTables[bytes_after][(word >> shift) & 0xff];
  };
  for (; bytes.size() >= kWordBytes; bytes = bytes.subspan(kWordBytes)) {
    const std::uint64_t word = load_le<std::uint64_t>(bytes.data()) ^ crc;
    crc = look_up(7, word, 0) ^ look_up(6, word, 8) ^ look_up(5, word, 16) ^ look_up(4, word, 24) ^
          look_up(3, word, 32) ^ look_up(2, word, 40) ^ look_up(1, word, 48) ^ look_up(0, word, 56);
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return crc;
}

// The instruction takes three cycles and one may start each cycle, so three lanes
// of a block run side by side (Gopal and others, "Fast CRC Computation for iSCSI
// Polynomial Using CRC32 Instruction", 2011). A lane has up to 128 words; below
// kLaneWordsMin joining the lanes costs more than they save.
constexpr std::size_t kLaneWordsMax = 128;
constexpr std::size_t kLaneWordsMin = 6;

// Factors that move a register on by the `words` after it. The product of two
// registers is 63 bits, one short of the mirrored 64, and the CRC of these eight
// bytes multiplies by another x^32: together x^33 too much, left out beforehand.
struct LaneShift {
  std::uint32_t one_lane;
  std::uint32_t two_lanes;
};
using LaneShifts = std::array<LaneShift, kLaneWordsMax + 1>;
constexpr LaneShifts make_lane_shifts() {
  constexpr std::uint32_t kOne = 0x80000000;
  std::array<std::uint32_t, 2 * kLaneWordsMax + 1> shifts{};
  shifts[1] = times_x_to_the(kOne, 8 * kWordBytes - 33);
  for (std::size_t words = 2; words < shifts.size(); ++words) {
    shifts[words] = times_x_to_the(shifts[words - 1], 8 * kWordBytes);
  }
  LaneShifts lanes{};
  for (std::size_t words = 1; words < lanes.size(); ++words) {
    lanes[words] = {shifts[words], shifts[2 * words]};
  }
  return lanes;
}
constexpr LaneShifts kLaneShifts = make_lane_shifts();

ZHINU_CRC32C_INLINE std::uint64_t next_word(std::uint64_t crc, const std::byte* at) {
  return _mm_crc32_u64(crc, load_le<std::uint64_t>(at));
}

ZHINU_CRC32C_INLINE std::uint64_t product(std::uint64_t crc, std::uint32_t factor) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(crc)),
                                               _mm_cvtsi64_si128(factor), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

// One block of three lanes of `words` each.
ZHINU_CRC32C_INLINE std::uint64_t three_lanes(std::uint64_t crc, const std::byte* at,
                                              std::size_t words) {
  const std::size_t lane_bytes = words * kWordBytes;
  std::uint64_t first = crc;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (const std::byte* end = at + lane_bytes; at != end; at += kWordBytes) {
    first = next_word(first, at);
    second = next_word(second, at + lane_bytes);
    third = next_word(third, at + 2 * lane_bytes);
  }
  const LaneShift shift = kLaneShifts[words];
  return third ^
         _mm_crc32_u64(0, product(first, shift.two_lanes) ^ product(second, shift.one_lane));
}

__attribute__((target(ZHINU_CRC32C_TARGET))) std::uint32_t crc_by_instruction(std::uint32_t seed,
                                                                              ByteSpan bytes) {
  std::uint64_t crc = seed;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  while (left >= 3 * kLaneWordsMin * kWordBytes) {
    const std::size_t words = std::min(left / (3 * kWordBytes), kLaneWordsMax);
    crc = three_lanes(crc, at, words);
    at += 3 * words * kWordBytes;
    left -= 3 * words * kWordBytes;
  }
  for (; left >= kWordBytes; left -= kWordBytes, at += kWordBytes) crc = next_word(crc, at);
  auto narrow = static_cast<std::uint32_t>(crc);
  if ((left & 4) != 0) {
    narrow = _mm_crc32_u32(narrow, load_le<std::uint32_t>(at));
    at += 4;
  }
  if ((left & 2) != 0) {
    narrow = _mm_crc32_u16(narrow, load_le<std::uint16_t>(at));
    at += 2;
  }
  if ((left & 1) != 0) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  return narrow;
}

}  // namespace

bool crc32c_kernel_available(Crc32cKernel kernel) {
  switch (kernel) {
    case Crc32cKernel::kTable: return true;
    case Crc32cKernel::kSse42:
      return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  }
  return false;
}

Crc32cKernel best_crc32c_kernel() {
  return crc32c_kernel_available(Crc32cKernel::kSse42) ? Crc32cKernel::kSse42
                                                       : Crc32cKernel::kTable;
}

const char* crc32c_kernel_name(Crc32cKernel kernel) {
  switch (kernel) {
    case Crc32cKernel::kTable: return "table";
    case Crc32cKernel::kSse42: return "sse42";
  }
  return "unknown";
}

std::uint32_t crc32c(Crc32cKernel kernel, std::uint32_t seed, ByteSpan bytes) {
  if (kernel == Crc32cKernel::kSse42) {
    ZHINU_ASSERT(crc32c_kernel_available(kernel));
    return ~crc_by_instruction(~seed, bytes);
  }
  return ~crc_by_tables(~seed, bytes);
}

}  // namespace zhinu

#include "wire/codec.h"

#include <limits>

#include "wire/frame_layout.h"

namespace zhinu::wire {

std::uint64_t expand_number(std::uint32_t truncated, std::uint64_t expected) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 32;
  constexpr std::uint64_t kHalf = kWindow / 2;
  const std::uint64_t candidate = (expected & ~(kWindow - 1)) | truncated;
  // Both steps stay within 64 bits: near either end there is only one candidate.
  if (candidate < expected && expected - candidate >= kHalf &&
      candidate <= std::numeric_limits<std::uint64_t>::max() - kWindow) {
    return candidate + kWindow;
  }
  if (candidate > expected && candidate - expected > kHalf && candidate >= kWindow) {
    return candidate - kWindow;
  }
  return candidate;
}

bool is_handshake(ByteSpan datagram) {
  return !datagram.empty() &&
         (std::to_integer<std::uint8_t>(datagram[0]) & kFormHandshakeMask) == kFormHandshake;
}

}  // namespace zhinu::wire

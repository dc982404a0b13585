// The handshake packet as a structure: how two endpoints meet.
//
// HELLO (no cookie) -> RETRY (cookie) -> HELLO (cookie) -> WELCOME, then sealed
// packets. REFUSE answers a HELLO whose version or world does not fit. All kinds
// have one layout and one size, so that an answer is never larger than the
// question. The tag is made with the handshake key of the job over the bytes
// before it. docs/protocol.md tells the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace zhinu::wire {

inline constexpr std::size_t kHandshakeBytes = 208;  // tag included
inline constexpr std::size_t kCookieBytes = 32;
inline constexpr std::size_t kHandshakeNonceBytes = 32;

// Protocol versions this build speaks: N and, once there is one, N - 1.
inline constexpr std::uint8_t kVersionMin = 1;
inline constexpr std::uint8_t kVersionMax = 1;

enum class HandshakeKind : std::uint8_t { kHello = 1, kRetry = 2, kWelcome = 3, kRefuse = 4 };

struct HandshakePacket {
  HandshakeKind kind = HandshakeKind::kHello;
  std::uint8_t version_min = kVersionMin;  // hello, refuse: offered.  welcome: both the chosen one
  std::uint8_t version_max = kVersionMax;
  std::uint8_t path_count = 0;   // paths the sender of this packet will send on
  Errc code = Errc::kOk;         // refuse: why
  std::uint64_t connection = 0;  // id chosen by the receiver of this packet; 0 = not yet known
  std::uint64_t source_connection = 0;  // id chosen by the sender of this packet
  std::uint64_t world = 0;              // generation of the world both belong to
  std::uint64_t incarnation = 0;        // random, new at each start of the sender's process
  std::uint32_t rank = 0;               // of the sender
  std::uint32_t target_rank = 0;        // whom the sender means
  std::uint32_t packet_bytes_max = 0;   // largest packet the sender takes
  std::uint32_t eager_bytes_max = 0;    // largest message the sender takes without a grant
  std::array<std::byte, kHandshakeNonceBytes> nonce{};
  std::array<std::byte, kCookieBytes>
      cookie{};  // retry: to be given back.  hello: given back, or 0
};

}  // namespace zhinu::wire

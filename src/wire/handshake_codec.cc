#include <algorithm>

#include "wire/codec.h"
#include "wire/frame_layout.h"

namespace zhinu::wire {
namespace {

constexpr std::uint8_t kLayoutRevision = 1;
constexpr std::uint32_t kMagic = 0x554e485a;  // "ZHNU" in the order of the bytes

struct HandshakeLayout {
  std::uint8_t form;
  std::uint8_t revision;
  std::uint16_t length;
  std::uint32_t magic;
  std::uint8_t version_min;
  std::uint8_t version_max;
  std::uint8_t path_count;
  std::uint8_t zero;
  std::uint16_t code;
  std::uint16_t zero2;
  std::uint64_t connection;
  std::uint64_t source_connection;
  std::uint64_t world;
  std::uint64_t incarnation;
  std::uint32_t rank;
  std::uint32_t target_rank;
  std::uint32_t packet_bytes_max;
  std::uint32_t eager_bytes_max;
  std::array<std::byte, kHandshakeNonceBytes> nonce;
  std::array<std::byte, kCookieBytes> cookie;
  std::array<std::uint64_t, 8> zero3;
  std::array<std::byte, kTagBytes> tag;
};
static_assert(sizeof(HandshakeLayout) == kHandshakeBytes);

bool is_kind(HandshakeKind kind) {
  return kind >= HandshakeKind::kHello && kind <= HandshakeKind::kRefuse;
}

// A refusal says why, and nothing else has a reason to give.
bool is_code_due(HandshakeKind kind, Errc code) {
  return (kind == HandshakeKind::kRefuse) == (code != Errc::kOk);
}

bool is_reserved_zero(const HandshakeLayout& from) {
  return from.zero == 0 && from.zero2 == 0 &&
         std::all_of(from.zero3.begin(), from.zero3.end(), [](auto word) { return word == 0; });
}

}  // namespace

Status encode_handshake(const HandshakePacket& packet, MutableByteSpan out) {
  if (out.size() < kHandshakeBytes) return Errc::kBadLength;
  if (!is_kind(packet.kind) || !is_code_due(packet.kind, packet.code)) {
    return Errc::kInvalidArgument;
  }
  const auto kind = static_cast<std::uint8_t>(packet.kind);
  store_le(out.data(), HandshakeLayout{.form = static_cast<std::uint8_t>(kFormHandshake | kind),
                                       .revision = kLayoutRevision,
                                       .length = kHandshakeBytes,
                                       .magic = kMagic,
                                       .version_min = packet.version_min,
                                       .version_max = packet.version_max,
                                       .path_count = packet.path_count,
                                       .zero = 0,
                                       .code = static_cast<std::uint16_t>(packet.code),
                                       .zero2 = 0,
                                       .connection = packet.connection,
                                       .source_connection = packet.source_connection,
                                       .world = packet.world,
                                       .incarnation = packet.incarnation,
                                       .rank = packet.rank,
                                       .target_rank = packet.target_rank,
                                       .packet_bytes_max = packet.packet_bytes_max,
                                       .eager_bytes_max = packet.eager_bytes_max,
                                       .nonce = packet.nonce,
                                       .cookie = packet.cookie,
                                       .zero3 = {},
                                       .tag = {}});
  return {};
}

Status decode_handshake(ByteSpan datagram, HandshakePacket& out) {
  if (datagram.size() < kHandshakeBytes) return Errc::kTruncatedPacket;
  if (datagram.size() > kHandshakeBytes) return Errc::kBadLength;
  const auto from = load_le<HandshakeLayout>(datagram.data());
  if ((from.form & kFormHandshakeMask) != kFormHandshake || from.magic != kMagic) {
    return Errc::kBadKind;
  }
  if (from.revision != kLayoutRevision) return Errc::kBadVersion;
  const auto kind = static_cast<HandshakeKind>(from.form & ~kFormHandshakeMask);
  if (!is_kind(kind)) return Errc::kBadKind;
  if (from.length != kHandshakeBytes) return Errc::kBadLength;
  const auto code = static_cast<Errc>(from.code);
  if (!is_reserved_zero(from) || !is_code_due(kind, code)) return Errc::kBadFrame;
  out = HandshakePacket{.kind = kind,
                        .version_min = from.version_min,
                        .version_max = from.version_max,
                        .path_count = from.path_count,
                        .code = code,
                        .connection = from.connection,
                        .source_connection = from.source_connection,
                        .world = from.world,
                        .incarnation = from.incarnation,
                        .rank = from.rank,
                        .target_rank = from.target_rank,
                        .packet_bytes_max = from.packet_bytes_max,
                        .eager_bytes_max = from.eager_bytes_max,
                        .nonce = from.nonce,
                        .cookie = from.cookie};
  return {};
}

}  // namespace zhinu::wire

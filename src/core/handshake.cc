#include "core/handshake.h"

#include <cstring>

#include "base/aead.h"
#include "base/crc32c.h"
#include "core/key_schedule.h"
#include "wire/codec.h"

namespace zhinu::core {
namespace {

constexpr std::size_t kTagAt = wire::kHandshakeBytes - wire::kTagBytes;

Tag tag_of(const Identity& identity, ByteSpan tagged) {
  Tag tag;
  switch (identity.seal) {
    case SealMode::kNone: break;
    case SealMode::kCrc32c:
      store_le(tag.bytes.data(), crc32c(best_crc32c_kernel(), 0, tagged));
      break;
    case SealMode::kGmac: tag = handshake_tag(identity.job_key, tagged); break;
  }
  return tag;
}

}  // namespace

Status encode_and_tag(const Identity& identity, const wire::HandshakePacket& packet,
                      MutableByteSpan out) {
  if (const Status status = wire::encode_handshake(packet, out); !status.ok()) return status;
  const Tag tag = tag_of(identity, out.first(kTagAt));
  std::memcpy(out.data() + kTagAt, tag.bytes.data(), sizeof tag.bytes);
  return {};
}

Status check_and_decode(const Identity& identity, ByteSpan datagram, wire::HandshakePacket& out) {
  // The form first: what is not a handshake of ours must not cost a hash.
  wire::HandshakePacket packet;
  if (const Status status = wire::decode_handshake(datagram, packet); !status.ok()) return status;
  Tag found;
  std::memcpy(found.bytes.data(), datagram.data() + kTagAt, sizeof found.bytes);
  if (!tag_equal(found, tag_of(identity, datagram.first(kTagAt)))) return Errc::kBadTag;
  out = packet;
  return {};
}

}  // namespace zhinu::core

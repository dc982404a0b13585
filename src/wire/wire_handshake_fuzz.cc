// Any bytes as a handshake packet: refused with a reason, or accepted, and then
// encoding what was decoded gives the same bytes but for the tag.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"
#include "wire/codec.h"

namespace zhinu::wire {
namespace {

void run(ByteSpan datagram) {
  HandshakePacket packet;
  if (!decode_handshake(datagram, packet).ok()) return;
  ZHINU_ASSERT(is_handshake(datagram));
  ZHINU_ASSERT((packet.kind == HandshakeKind::kRefuse) == (packet.code != Errc::kOk));
  std::array<std::byte, kHandshakeBytes> out{};
  ZHINU_ASSERT(encode_handshake(packet, out).ok());
  ZHINU_ASSERT(std::memcmp(out.data(), datagram.data(), kHandshakeBytes - kTagBytes) == 0);
}

}  // namespace
}  // namespace zhinu::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zhinu::wire::run(std::as_bytes(std::span(data, size)));
  return 0;
}

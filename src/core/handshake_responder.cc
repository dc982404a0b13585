#include <algorithm>

#include "base/check.h"
#include "core/handshake.h"
#include "core/handshake_terms.h"

namespace zhinu::core {
namespace {

CookieHolder holder_of(const Address& from, const wire::HandshakePacket& hello) {
  return {.from = from,
          .connection = hello.source_connection,
          .incarnation = hello.incarnation,
          .rank = hello.rank};
}

}  // namespace

Responder::Responder(const HandshakeContext& context, Entropy& entropy)
    : context_(context), cookies_(context.cookie_lifetime, entropy) {}

Result<Responder::Reply> Responder::handle_hello(Instant now, const Address& from,
                                                 const wire::HandshakePacket& hello,
                                                 std::uint64_t connection, Entropy& entropy) const {
  ZHINU_ASSERT(connection != 0);
  if (const Status status = check(hello); !status.ok()) return status.error();

  const CookieHolder holder = holder_of(from, hello);
  if (!cookies_.is_valid(now, holder, hello.cookie)) {
    wire::HandshakePacket retry = answer(wire::HandshakeKind::kRetry, hello);
    retry.cookie = cookies_.make(now, holder);
    return Reply{.packet = retry, .established = std::nullopt};
  }

  wire::HandshakePacket welcome = answer(wire::HandshakeKind::kWelcome, hello);
  const std::uint8_t version = std::min(context_.version_max, hello.version_max);
  welcome.version_min = version;
  welcome.version_max = version;
  welcome.source_connection = connection;
  entropy.fill(welcome.nonce);
  const Identity& identity = context_.identity;
  const KeyMaterial material{.job_key = identity.job_key,
                             .initiator_nonce = hello.nonce,
                             .responder_nonce = welcome.nonce,
                             .initiator_rank = hello.rank,
                             .responder_rank = identity.rank,
                             .initiator_incarnation = hello.incarnation,
                             .responder_incarnation = identity.incarnation,
                             .world = identity.world};
  Established established = agreed(context_, hello, version, connection);
  established.sealer = Sealer(now, identity.seal, material, false, context_.sealer_limits);
  return Reply{.packet = welcome, .established = std::move(established)};
}

wire::HandshakePacket Responder::refusal(const wire::HandshakePacket& hello, Errc code) const {
  ZHINU_ASSERT(code != Errc::kOk);
  wire::HandshakePacket refuse = answer(wire::HandshakeKind::kRefuse, hello);
  refuse.code = code;
  return refuse;
}

// The version comes first: what the other fields mean is a matter of the version.
Status Responder::check(const wire::HandshakePacket& hello) const {
  if (hello.kind != wire::HandshakeKind::kHello) return Errc::kBadKind;
  if (hello.source_connection == 0 || hello.connection != 0) return Errc::kUnknownConnection;
  if (std::max(hello.version_min, context_.version_min) >
      std::min(hello.version_max, context_.version_max)) {
    return Errc::kBadVersion;
  }
  if (hello.world != context_.identity.world) return Errc::kWrongWorld;
  if (hello.target_rank != context_.identity.rank || hello.rank == context_.identity.rank) {
    return Errc::kUnknownPeer;
  }
  if (hello.packet_bytes_max < kPacketBytesMin) return Errc::kBadLength;
  return {};
}

wire::HandshakePacket Responder::answer(wire::HandshakeKind kind,
                                        const wire::HandshakePacket& hello) const {
  wire::HandshakePacket packet = terms_of(context_);
  packet.kind = kind;
  packet.connection = hello.source_connection;
  packet.target_rank = hello.rank;
  return packet;
}

}  // namespace zhinu::core

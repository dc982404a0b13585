#include <algorithm>

#include "base/check.h"
#include "core/handshake.h"
#include "core/handshake_terms.h"

namespace zhinu::core {
namespace {

// A seed for back-off only; an observer who guesses it learns when we say hello.
std::uint64_t draw_seed(Entropy& entropy) {
  std::array<std::byte, 8> bytes{};
  entropy.fill(bytes);
  return load_le<std::uint64_t>(bytes.data());
}

}  // namespace

Initiator::Initiator(Instant now, const HandshakeContext& context, std::uint32_t peer_rank,
                     std::uint64_t connection, Entropy& entropy)
    : context_(context),
      peer_rank_(peer_rank),
      connection_(connection),
      jitter_(draw_seed(entropy)),
      next_hello_(now),
      next_retry_(now),
      interval_(context.hello_interval_first) {
  ZHINU_ASSERT(connection != 0);
  ZHINU_ASSERT(context.hello_interval_first > Duration{});
  ZHINU_ASSERT(context.hello_interval_first <= context.hello_interval_max);
  entropy.fill(nonce_);
}

std::optional<wire::HandshakePacket> Initiator::poll_transmit(Instant now) {
  if (now < next_hello_) return std::nullopt;
  schedule(now, interval_);
  interval_ = std::min(interval_ * 2, context_.hello_interval_max);

  wire::HandshakePacket hello = terms_of(context_);
  hello.kind = wire::HandshakeKind::kHello;
  hello.source_connection = connection_;
  hello.target_rank = peer_rank_;
  hello.nonce = nonce_;
  hello.cookie = cookie_;
  return hello;
}

Result<std::optional<Established>> Initiator::handle(Instant now,
                                                     const wire::HandshakePacket& packet) {
  if (packet.kind == wire::HandshakeKind::kHello || established_) return Errc::kBadKind;
  if (!answers_us(packet)) return Errc::kUnknownConnection;
  if (packet.kind == wire::HandshakeKind::kRefuse) return refused(now, packet);
  if (packet.kind == wire::HandshakeKind::kWelcome) return welcomed(now, packet);
  take_cookie(now, packet);
  return std::optional<Established>{};
}

bool Initiator::answers_us(const wire::HandshakePacket& packet) const {
  if (packet.connection != connection_) return false;
  if (packet.target_rank != context_.identity.rank) return false;
  // A refusal may be about these two: then the peer's own do not fit.
  if (packet.kind == wire::HandshakeKind::kRefuse) return true;
  return packet.rank == peer_rank_ && packet.world == context_.identity.world;
}

void Initiator::take_cookie(Instant now, const wire::HandshakePacket& retry) {
  // The same cookie again is a late copy of an answer that we have already used.
  if (retry.cookie == cookie_) return;
  cookie_ = retry.cookie;
  interval_ = context_.hello_interval_first;
  // Old RETRYs that somebody recorded and sends again are genuine to the tag. They must not
  // make us send faster than the first interval.
  next_hello_ = std::min(next_hello_, std::max(now, next_retry_));
  next_retry_ = next_hello_ + context_.hello_interval_first;
}

// Up to a quarter early, at random: peers that start together do not stay together, and no
// wait is longer than its name says.
void Initiator::schedule(Instant now, Duration interval) {
  const auto early = jitter_.below(static_cast<std::uint64_t>(interval.ns) / 4 + 1);
  next_hello_ = now + interval - Duration{static_cast<std::int64_t>(early)};
}

Errc Initiator::refused(Instant now, const wire::HandshakePacket& refuse) {
  // The codes that handle() gives to packets that do not fit must stay unmistakable.
  if (refuse.code == Errc::kOk || refuse.code == Errc::kBadKind ||
      refuse.code == Errc::kUnknownConnection) {
    return Errc::kProtocolViolation;
  }
  interval_ = context_.hello_interval_max;
  schedule(now, interval_);
  return refuse.code;
}

Result<std::optional<Established>> Initiator::welcomed(Instant now,
                                                       const wire::HandshakePacket& welcome) {
  const std::uint8_t version = welcome.version_min;
  if (version != welcome.version_max || version < context_.version_min ||
      version > context_.version_max || welcome.source_connection == 0 ||
      welcome.packet_bytes_max < kPacketBytesMin) {
    return Errc::kProtocolViolation;
  }
  const Identity& identity = context_.identity;
  const KeyMaterial material{.job_key = identity.job_key,
                             .initiator_nonce = nonce_,
                             .responder_nonce = welcome.nonce,
                             .initiator_rank = identity.rank,
                             .responder_rank = peer_rank_,
                             .initiator_incarnation = identity.incarnation,
                             .responder_incarnation = welcome.incarnation,
                             .world = identity.world};
  std::optional<Established> established = agreed(context_, welcome, version, connection_);
  established->sealer = Sealer(now, identity.seal, material, true, context_.sealer_limits);
  established_ = true;
  next_hello_ = Instant::never();
  return established;
}

}  // namespace zhinu::core

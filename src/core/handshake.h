// How two endpoints meet: HELLO, RETRY, HELLO with cookie, WELCOME.
//
// Sans-IO: packets and time in, packets out. The responder keeps no state before
// the initiator has proved its address by giving a cookie back, and an answer is
// never larger than the question. Every packet carries a tag under a key derived
// from the job key (or a CRC with `auth off`), so strangers are dropped unread.
// Why it is made like this: docs/adr/0002-handshake.md.
// Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "core/cookie.h"
#include "core/endpoint.h"
#include "core/entropy.h"
#include "core/seal.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

// The least that every peer takes in one packet: what any network carries (the
// IPv6 minimum MTU), so that a path of 1,280 bytes can always be used.
inline constexpr std::uint32_t kPacketBytesMin = 1'280;

// What a finished handshake yields, on either side.
struct Established {
  std::uint64_t local_connection = 0;   // packets to us carry it
  std::uint64_t remote_connection = 0;  // packets to the peer carry it
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;
  std::uint8_t version = 0;
  std::uint8_t path_count = 0;         // paths the peer will send on, at most path_count_max
  std::uint32_t packet_bytes_max = 0;  // min of both sides
  std::uint32_t eager_bytes_max = 0;   // min of both sides
  Sealer sealer;
};

// What both roles need to know.
struct HandshakeContext {
  Identity identity;
  std::uint8_t version_min = wire::kVersionMin;
  std::uint8_t version_max = wire::kVersionMax;
  std::uint8_t path_count = 1;         // paths we will send on
  std::uint8_t path_count_max = 64;    // paths of the peer that we take; more are its dead paths
  std::uint32_t packet_bytes_max = 0;  // at least kPacketBytesMin, else every peer refuses us
  std::uint32_t eager_bytes_max = 0;
  Duration hello_interval_first = milliseconds(20);
  Duration hello_interval_max = seconds(1);
  Duration cookie_lifetime = seconds(10);
  Sealer::Limits sealer_limits;
};

// Bytes and tag of a handshake packet; out.size() >= wire::kHandshakeBytes.
Status encode_and_tag(const Identity& identity, const wire::HandshakePacket& packet,
                      MutableByteSpan out);
// Decodes and checks the tag: kTruncatedPacket, kBadLength, kBadKind, kBadVersion, kBadFrame,
// kBadTag. After an error `out` is as it was.
Status check_and_decode(const Identity& identity, ByteSpan datagram, wire::HandshakePacket& out);

// One attempt to reach `peer_rank`. Repeats its HELLO with back-off until it ends.
class Initiator {
 public:
  // `connection` is our id for the new connection (random, unused, not 0).
  Initiator(Instant now, const HandshakeContext& context, std::uint32_t peer_rank,
            std::uint64_t connection, Entropy& entropy);

  // A HELLO, at the first call and then each time that timeout() has come.
  std::optional<wire::HandshakePacket> poll_transmit(Instant now);
  Instant timeout() const { return next_hello_; }  // never() once established
  // RETRY: takes the cookie, HELLO again at once (but not twice within hello_interval_first).
  // WELCOME: established. REFUSE: the peer's code (kBadVersion, kWrongWorld, kUnknownPeer,
  // kBadLength, or what a later version adds) for the caller to report; the attempt goes on at
  // hello_interval_max, since the peer may be restarted with what fits.
  // kBadKind             a HELLO, or any packet once established: fits nothing here.
  // kUnknownConnection   not an answer to this attempt: connection id, rank or world of another.
  // kProtocolViolation   an answer to us that breaks the protocol; dropped like the two above.
  Result<std::optional<Established>> handle(Instant now, const wire::HandshakePacket& packet);

 private:
  bool answers_us(const wire::HandshakePacket& packet) const;
  void take_cookie(Instant now, const wire::HandshakePacket& retry);
  void schedule(Instant now, Duration interval);
  Errc refused(Instant now, const wire::HandshakePacket& refuse);
  Result<std::optional<Established>> welcomed(Instant now, const wire::HandshakePacket& welcome);

  HandshakeContext context_;
  std::uint32_t peer_rank_ = 0;
  std::uint64_t connection_ = 0;
  bool established_ = false;
  std::array<std::byte, wire::kHandshakeNonceBytes> nonce_{};
  Cookie cookie_{};
  Prng jitter_;
  Instant next_hello_;
  Instant next_retry_;  // a RETRY makes no HELLO before
  Duration interval_;
};

// Answers HELLOs. Holds a cookie secret and nothing per stranger.
class Responder {
 public:
  Responder(const HandshakeContext& context, Entropy& entropy);

  struct Reply {
    std::optional<wire::HandshakePacket> packet;  // to where the HELLO came from
    std::optional<Established> established;       // with a WELCOME in `packet`
  };
  // A HELLO with a valid cookie makes a fresh Established each time it is called: the caller
  // first looks whether it already answered this (source connection, incarnation) and then
  // repeats its stored WELCOME instead. `connection` as in Initiator. A cookie that is absent,
  // expired or another's is no error: a RETRY answers it.
  // kBadKind             not a HELLO. No answer.
  // kUnknownConnection   the HELLO names no connection of its own, or one of ours. No answer.
  // Answered with refusal():
  // kBadVersion          no version that both speak.
  // kWrongWorld          another generation of the world.
  // kUnknownPeer         another rank is meant, or the sender claims our own.
  // kBadLength           packet_bytes_max below kPacketBytesMin.
  Result<Reply> handle_hello(Instant now, const Address& from, const wire::HandshakePacket& hello,
                             std::uint64_t connection, Entropy& entropy) const;
  // The REFUSE that tells a peer why its HELLO was not taken.
  wire::HandshakePacket refusal(const wire::HandshakePacket& hello, Errc code) const;

 private:
  Status check(const wire::HandshakePacket& hello) const;
  wire::HandshakePacket answer(wire::HandshakeKind kind, const wire::HandshakePacket& hello) const;

  HandshakeContext context_;
  CookieMint cookies_;
};

}  // namespace zhinu::core

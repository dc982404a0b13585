// How two endpoints meet: HELLO, RETRY, HELLO with cookie, WELCOME.
//
// Sans-IO: packets and time in, packets out. The responder keeps no state before
// the initiator has proved its address by giving a cookie back, and an answer is
// never larger than the question. Every packet carries a tag under a key derived
// from the job key (or a CRC with `auth off`), so strangers are dropped unread.
// Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "core/endpoint.h"
#include "core/entropy.h"
#include "core/seal.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

// What a finished handshake yields, on either side.
struct Established {
  std::uint64_t local_connection = 0;   // packets to us carry it
  std::uint64_t remote_connection = 0;  // packets to the peer carry it
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;
  std::uint8_t version = 0;
  std::uint8_t path_count = 0;         // paths the peer will send on
  std::uint32_t packet_bytes_max = 0;  // min of both sides
  std::uint32_t eager_bytes_max = 0;   // min of both sides
  Sealer sealer;
};

// What both roles need to know.
struct HandshakeContext {
  Identity identity;
  std::uint8_t version_min = wire::kVersionMin;
  std::uint8_t version_max = wire::kVersionMax;
  std::uint8_t path_count = 1;  // paths we will send on
  std::uint32_t packet_bytes_max = 0;
  std::uint32_t eager_bytes_max = 0;
  Duration hello_interval_first = milliseconds(20);
  Duration hello_interval_max = seconds(1);
  Duration cookie_lifetime = seconds(10);
  Sealer::Limits sealer_limits;
};

// Bytes and tag of a handshake packet; out.size() >= wire::kHandshakeBytes.
Status encode_and_tag(const Identity& identity, const wire::HandshakePacket& packet,
                      MutableByteSpan out);
// Decodes and checks the tag: kTruncatedPacket, kBadLength, kBadKind, kBadFrame, kBadTag.
Status check_and_decode(const Identity& identity, ByteSpan datagram, wire::HandshakePacket& out);

// One attempt to reach `peer_rank`. Repeats its HELLO with back-off until it ends.
class Initiator {
 public:
  // `connection` is our id for the new connection (random, unused, not 0).
  Initiator(Instant now, const HandshakeContext& context, std::uint32_t peer_rank,
            std::uint64_t connection, Entropy& entropy);

  std::optional<wire::HandshakePacket> poll_transmit(Instant now);
  Instant timeout() const;
  // RETRY: takes the cookie, HELLO again at once. WELCOME: established. REFUSE: the peer's code
  // (kBadVersion, kWrongWorld), which ends the attempt for the caller to report; the initiator
  // may go on trying at hello_interval_max. kBadKind / kUnknownConnection: fits nothing here.
  Result<std::optional<Established>> handle(Instant now, const wire::HandshakePacket& packet);

 private:
  HandshakeContext context_;
  std::uint32_t peer_rank_ = 0;
  std::uint64_t connection_ = 0;
  // further members are the implementer's choice
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
  // repeats its stored WELCOME instead. `connection` as in Initiator. Errors: kBadVersion (a
  // REFUSE is in the reply of `refusal`), kWrongWorld, kBadCookie never (a RETRY answers it).
  Result<Reply> handle_hello(Instant now, const Address& from, const wire::HandshakePacket& hello,
                             std::uint64_t connection, Entropy& entropy);
  // The REFUSE that tells a peer why its HELLO was not taken.
  wire::HandshakePacket refusal(const wire::HandshakePacket& hello, Errc code) const;

 private:
  HandshakeContext context_;
  std::array<std::byte, 32> cookie_secret_{};
};

}  // namespace zhinu::core

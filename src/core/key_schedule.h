// From the job key to the keys of packets, by labels.
//
//   connection secret  HKDF-SHA256 extract (RFC 5869) of the job key, salted with the
//                      initiator's nonce, then the responder's
//   first secret       HKDF-SHA256 expand, "zhinu 1 initiator" or "zhinu 1 responder", both
//                      ranks, both incarnations, world; 16 bytes, one per direction
//   packet key         AES-128 under the phase's secret, of counter block 0
//   next secret        the same, of counter block 1
//   handshake tag      HMAC-SHA256 under the job key of "zhinu 1 handshake" and the packet
//
// Counter block n is 4 zero bytes, n in 8 bytes little-endian, then 00 00 00 01. The 1 in the
// labels is the version of this schedule. Key phases go by AES since HKDF allocates in OpenSSL
// and they move while packets arrive: docs/adr/0002-handshake.md. Thread rule: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aead.h"
#include "base/bytes.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

using JobKey = std::array<std::byte, 32>;
using Secret = std::array<std::byte, kGmacKeyBytes>;
using PacketKey = std::array<std::byte, kGmacKeyBytes>;

// What both sides know after the handshake, in the same order on both.
struct KeyMaterial {
  JobKey job_key{};
  std::array<std::byte, wire::kHandshakeNonceBytes> initiator_nonce{};
  std::array<std::byte, wire::kHandshakeNonceBytes> responder_nonce{};
  std::uint32_t initiator_rank = 0;
  std::uint32_t responder_rank = 0;
  std::uint64_t initiator_incarnation = 0;
  std::uint64_t responder_incarnation = 0;
  std::uint64_t world = 0;
};

// Of key phase 0. Named by who sends with it.
struct TrafficSecrets {
  Secret initiator{};
  Secret responder{};
};

// What the secret of one phase gives.
struct PhaseKeys {
  PacketKey packet_key{};
  Secret next{};  // secret of the phase after; does not give this one back
};

// Allocates, inside OpenSSL: once a handshake.
TrafficSecrets traffic_secrets(const KeyMaterial& material);
// Does not allocate, but with GmacKernel::kEvp.
PhaseKeys phase_keys(const Secret& secret, GmacKernel kernel);
// `tagged` is a handshake packet without its tag. Allocates, inside OpenSSL.
Tag handshake_tag(const JobKey& job_key, ByteSpan tagged);

}  // namespace zhinu::core

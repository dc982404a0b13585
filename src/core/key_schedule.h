// From the job key to the keys of packets: HKDF-SHA256 (RFC 5869), by labels.
//
//   handshake key     expand(job key, "zhinu 1 handshake")
//   connection secret extract(initiator nonce || responder nonce, job key)
//   first secret      expand(connection secret, "zhinu 1 initiator" or "... responder",
//                     both ranks, both incarnations, world), one per direction
//   next secret       expand(secret, "zhinu 1 rekey")
//   packet key        expand(secret, "zhinu 1 key"), 16 bytes
//
// The 1 in the labels is the version of this schedule. Thread rule: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aead.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

using Secret = std::array<std::byte, 32>;

// What both sides know after the handshake, in the same order on both.
struct KeyMaterial {
  Secret job_key{};
  std::array<std::byte, wire::kHandshakeNonceBytes> initiator_nonce{};
  std::array<std::byte, wire::kHandshakeNonceBytes> responder_nonce{};
  std::uint32_t initiator_rank = 0;
  std::uint32_t responder_rank = 0;
  std::uint64_t initiator_incarnation = 0;
  std::uint64_t responder_incarnation = 0;
  std::uint64_t world = 0;
};

// Named by who sends with it.
struct TrafficSecrets {
  Secret initiator{};
  Secret responder{};
};

Secret handshake_key(const Secret& job_key);
TrafficSecrets traffic_secrets(const KeyMaterial& material);
// From one key phase to the next. One way: the later secret does not give the earlier.
Secret next_secret(const Secret& secret);
std::array<std::byte, kGmacKeyBytes> packet_key(const Secret& secret);

}  // namespace zhinu::core

// Two endpoints that are about to meet, for the tests of handshake and sealing.
//
// Rank 3 starts, rank 7 answers. All randomness comes from a seed. Thread rule:
// one test at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/prng.h"
#include "core/cookie.h"
#include "core/entropy.h"
#include "core/handshake.h"

namespace zhinu::core::test {

class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : prng_(seed) {}
  void fill(MutableByteSpan out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(prng_.next());
  }

 private:
  Prng prng_;
};

inline constexpr std::uint32_t kInitiatorRank = 3;
inline constexpr std::uint32_t kResponderRank = 7;
inline constexpr std::uint64_t kInitiatorConnection = 0x1111'2222'3333'4444;
inline constexpr std::uint64_t kResponderConnection = 0x5555'6666'7777'8888;
inline constexpr std::uint64_t kWorld = 42;
inline constexpr Instant kStart = {1'000'000'000'000};

inline JobKey job_key_of(std::uint64_t seed) {
  JobKey key{};
  SeededEntropy(seed).fill(key);
  return key;
}

inline Address address_of(std::uint8_t host) {
  Address address;
  address.bytes[3] = static_cast<std::byte>(host);
  return address;
}

inline HandshakeContext context_of(std::uint32_t rank, SealMode seal = SealMode::kGmac) {
  HandshakeContext context;
  context.identity = {.rank = rank,
                      .world = kWorld,
                      .incarnation = 1000 + rank,
                      .seal = seal,
                      .job_key = job_key_of(1)};
  context.packet_bytes_max = 9'216;
  context.eager_bytes_max = 8'192;
  return context;
}
inline HandshakeContext initiator_context() { return context_of(kInitiatorRank); }
inline HandshakeContext responder_context() { return context_of(kResponderRank); }

// A HELLO as the initiator's first: without a cookie.
inline wire::HandshakePacket first_hello(const HandshakeContext& context) {
  SeededEntropy entropy(2);
  Initiator initiator(kStart, context, kResponderRank, kInitiatorConnection, entropy);
  return *initiator.poll_transmit(kStart);
}

inline wire::HandshakePacket with_cookie(wire::HandshakePacket hello, const Cookie& cookie) {
  hello.cookie = cookie;
  return hello;
}

inline KeyMaterial sample_material() {
  KeyMaterial material;
  SeededEntropy entropy(5);
  entropy.fill(material.job_key);
  entropy.fill(material.initiator_nonce);
  entropy.fill(material.responder_nonce);
  material.initiator_rank = kInitiatorRank;
  material.responder_rank = kResponderRank;
  material.initiator_incarnation = 0x0102'0304'0506'0708;
  material.responder_incarnation = 0x1112'1314'1516'1718;
  material.world = kWorld;
  return material;
}

// Bytes that stand for a packet: sealing looks at places, not at contents.
inline std::vector<std::byte> sample_packet(std::size_t bytes, std::uint64_t seed = 9) {
  std::vector<std::byte> packet(bytes);
  SeededEntropy(seed).fill(packet);
  return packet;
}

}  // namespace zhinu::core::test

// Protection of the packets of one connection: tags, key phases, rekeying.
//
// kGmac: AES-128-GMAC over the whole packet, its tag field taken as absent; nonce
// = 32-bit path, 64-bit packet number, used once under a key. Keys come from the
// job key and both handshake nonces by HKDF, one per direction and key phase
// (design decision 15). kCrc32c: a checksum in the first four tag bytes. kNone:
// zero. Thread rule: one owner at a time. Budget: at most 4 KiB a connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "core/endpoint.h"
#include "wire/packet.h"

namespace zhinu::core {

// What both sides know after the handshake, in the same order on both.
struct KeyMaterial {
  std::array<std::byte, 32> job_key{};
  std::array<std::byte, wire::kHandshakeNonceBytes> initiator_nonce{};
  std::array<std::byte, wire::kHandshakeNonceBytes> responder_nonce{};
  std::uint32_t initiator_rank = 0;
  std::uint32_t responder_rank = 0;
  std::uint64_t initiator_incarnation = 0;
  std::uint64_t responder_incarnation = 0;
  std::uint64_t world = 0;
};

class Sealer {
 public:
  struct Limits {
    std::uint64_t rekey_packets = 1ULL << 32;
    Duration rekey_interval = seconds(24 * 3600);
    // Packets of the old phase are taken this long after the new one was seen.
    Duration old_phase_kept = seconds(1);
  };

  Sealer();  // kNone
  Sealer(Instant now, SealMode mode, const KeyMaterial& material, bool initiator, Limits limits);
  Sealer(Sealer&&) noexcept;
  Sealer& operator=(Sealer&&) noexcept;
  ~Sealer();

  SealMode mode() const { return mode_; }
  // The phase bit that a packet built now must carry. Call once per packet to be sent, before
  // it is encoded: counts packets and moves to the next key at a limit, but never before the
  // peer has been seen to follow the last move.
  bool phase_to_send(Instant now);
  std::uint64_t rekeys() const { return rekeys_; }

  // Writes the tag into head[kTagOffset...]. `head` starts with the header; `tail` is the rest
  // of the packet, or empty (see wire::Encoded). The header's phase bit picks the key.
  void seal(MutableByteSpan head, ByteSpan tail, std::uint8_t path, std::uint64_t number,
            bool key_phase) const;

  // True if the tag of `packet` fits; `number` is the expanded one. A packet of the next phase
  // that fits moves the receiving side (and the sending side follows). A wrong tag changes
  // nothing.
  bool open(Instant now, ByteSpan packet, std::uint8_t path, std::uint64_t number, bool key_phase);

 private:
  SealMode mode_ = SealMode::kNone;
  std::uint64_t rekeys_ = 0;
  struct Keys;
  std::unique_ptr<Keys> keys_;
};

}  // namespace zhinu::core

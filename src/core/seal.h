// Protection of the packets of one connection: tags, key phases, rekeying.
//
// kGmac: AES-128-GMAC over the whole packet, its tag field taken as absent; nonce
// = 32-bit path, 64-bit packet number, used once under a key (the caller's
// promise: GMAC does not survive a repetition). Keys come from the job key and
// both handshake nonces by HKDF, one per direction and key phase (design decision
// 15). kCrc32c: CRC32C over path, number and the same bytes, in the first four
// tag bytes, zeros in the others. kNone: zeros.
//
// Who moves. Only the initiator starts a key phase; the responder follows when it
// opens a packet of it, and the initiator starts another only after it has seen
// that and two old_phase_kept have passed. So the two are never more than one
// phase apart and a phase bit always names one key: the reason is in
// docs/adr/0002-handshake.md. Moving does not allocate with the pclmul and vpclmul512 kernels.
//
// Thread rule: one owner at a time. Budget: at most 4 KiB a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/result.h"
#include "base/time.h"
#include "core/endpoint.h"
#include "core/key_schedule.h"
#include "wire/packet.h"

namespace zhinu::core {

class Sealer {
 public:
  struct Limits {
    // Packets under one key, sent or opened, whichever comes first.
    std::uint64_t rekey_packets = 1ULL << 32;
    Duration rekey_interval = seconds(24 * 3600);
    // Packets of the old phase are taken this long after the new one was seen: longer than
    // a packet can be under way. Later ones are lost, and re-sent like others.
    Duration old_phase_kept = seconds(1);
  };

  Sealer();  // kNone
  Sealer(Instant now, SealMode mode, const KeyMaterial& material, bool initiator, Limits limits);
  Sealer(Sealer&&) noexcept;
  Sealer& operator=(Sealer&&) noexcept;
  ~Sealer();

  SealMode mode() const { return mode_; }
  // The phase bit that a packet built now must carry. Call once per packet to be sent, before
  // it is encoded, and seal it before the next call of this or of open(): counts packets and
  // moves to the next key at a limit, but never before the peer has been seen to follow the
  // last move.
  bool phase_to_send(Instant now);
  std::uint64_t rekeys() const;  // moves of the sending side

  // Writes the tag into head[kTagOffset...]. `head` starts with the header; `tail` is the rest
  // of the packet, or empty (see wire::Encoded). `key_phase` is what phase_to_send gave.
  void seal(MutableByteSpan head, ByteSpan tail, std::uint8_t path, std::uint64_t number,
            bool key_phase) const;

  // True if the tag of `packet` fits; `number` is the expanded one. A packet of the next phase
  // that fits moves the receiving side (and the sending side follows). A wrong tag changes
  // nothing and costs one tag, whatever its phase bit. `packet` of any size.
  bool open(Instant now, ByteSpan packet, std::uint8_t path, std::uint64_t number, bool key_phase);

 private:
  struct Keys;
  SealMode mode_ = SealMode::kNone;
  Crc32cKernel crc_kernel_ = Crc32cKernel::kTable;
  std::unique_ptr<Keys> keys_;  // only with kGmac
};

}  // namespace zhinu::core

#include "core/seal.h"

#include <array>
#include <cstring>

#include "base/aead.h"
#include "base/check.h"
#include "base/crc32c.h"

namespace zhinu::core {
namespace {

using wire::kFramesOffset;
using wire::kHeaderBytes;
using wire::kTagOffset;

GmacKey key_of(const Secret& secret, GmacKernel kernel) {
  return GmacKey(phase_keys(secret, kernel).packet_key, kernel);
}

Secret next_of(const Secret& secret, GmacKernel kernel) { return phase_keys(secret, kernel).next; }

// The whole packet number goes in, so that one that was expanded wrongly is noticed.
Tag crc_tag(Crc32cKernel kernel, Nonce nonce, ByteSpan header, ByteSpan frames, ByteSpan tail) {
  std::array<std::byte, 12> place{};
  store_le(place.data(), nonce.prefix);
  store_le(place.data() + 4, nonce.counter);
  std::uint32_t crc = crc32c(kernel, 0, place);
  crc = crc32c(kernel, crc, header);
  crc = crc32c(kernel, crc, frames);
  crc = crc32c(kernel, crc, tail);
  Tag tag;
  store_le(tag.bytes.data(), crc);
  return tag;
}

}  // namespace

// The keys of both directions. Three fit the budget of 4 KiB: the receiving side has one for
// each phase bit, and that of the bit not in use serves first the phase before, then the phase
// after.
struct Sealer::Keys {
  // `sends` and `receives` are the secrets of phase 0.
  Keys(Instant now, const Secret& sends, const Secret& receives, bool is_initiator,
       const Limits& rekey_limits);

  bool phase_to_send(Instant now);
  // The one key that a packet with this phase bit can fit now; null if there is none.
  const GmacKey* key_to_open(Instant now, bool key_phase);
  void on_opened(Instant now, bool key_phase);

  bool send_bit() const { return (send_phase & 1) != 0; }
  bool receive_bit() const { return (receive_phase & 1) != 0; }
  bool rekey_is_due(Instant now) const;
  void move_send(Instant now);
  void move_receive(Instant now);

  const GmacKernel kernel = best_gmac_kernel();
  const bool initiator;
  bool other_is_old = false;  // what receive[!receive_bit()] holds: the old or the next key
  const Limits limits;
  std::uint64_t send_phase = 0;
  std::uint64_t receive_phase = 0;
  std::uint64_t sent_packets = 0;      // under `send`
  std::uint64_t received_packets = 0;  // under receive[receive_bit()]
  Instant moved_at;                    // when `send` came into use
  Instant next_move_at;                // not before: packets of the old phase may be under way
  Instant old_until;                   // the old key is not used from then on
  Secret next_send_secret;
  Secret next_receive_secret;
  GmacKey send;
  std::array<GmacKey, 2> receive;  // by phase bit
};

Sealer::Keys::Keys(Instant now, const Secret& sends, const Secret& receives, bool is_initiator,
                   const Limits& rekey_limits)
    : initiator(is_initiator),
      limits(rekey_limits),
      moved_at(now),
      next_move_at(now),
      next_send_secret(next_of(sends, kernel)),
      next_receive_secret(next_of(receives, kernel)),
      send(key_of(sends, kernel)),
      receive{key_of(receives, kernel), key_of(next_receive_secret, kernel)} {
  ZHINU_ASSERT(limits.rekey_packets > 0);
  ZHINU_ASSERT(limits.old_phase_kept >= Duration{});
}

bool Sealer::Keys::phase_to_send(Instant now) {
  if (rekey_is_due(now)) move_send(now);
  ++sent_packets;
  return send_bit();
}

bool Sealer::Keys::rekey_is_due(Instant now) const {
  const bool limit_reached = sent_packets >= limits.rekey_packets ||
                             received_packets >= limits.rekey_packets ||
                             now - moved_at >= limits.rekey_interval;
  return limit_reached && initiator && send_phase == receive_phase && now >= next_move_at;
}

const GmacKey* Sealer::Keys::key_to_open(Instant now, bool key_phase) {
  GmacKey& key = receive[key_phase ? 1 : 0];
  if (key_phase == receive_bit()) return &key;
  if (other_is_old && now < old_until) return &key;
  // The responder is never the first to move.
  if (initiator && send_phase == receive_phase) return nullptr;
  if (other_is_old) {
    key = key_of(next_receive_secret, kernel);
    other_is_old = false;
  }
  return &key;
}

void Sealer::Keys::on_opened(Instant now, bool key_phase) {
  if (key_phase == receive_bit()) {
    ++received_packets;
  } else if (!other_is_old) {
    move_receive(now);
  }
}

void Sealer::Keys::move_send(Instant now) {
  ++send_phase;
  send = key_of(next_send_secret, kernel);
  next_send_secret = next_of(next_send_secret, kernel);
  sent_packets = 0;
  moved_at = now;
}

void Sealer::Keys::move_receive(Instant now) {
  ++receive_phase;
  next_receive_secret = next_of(next_receive_secret, kernel);
  received_packets = 1;
  other_is_old = true;
  old_until = now + limits.old_phase_kept;
  if (!initiator) move_send(now);
  // The peer saw our move before this packet, so it stops to take the old phase before now +
  // old_phase_kept. Twice that leaves room for clocks that run at different speeds.
  next_move_at = now + limits.old_phase_kept * 2;
  ZHINU_ASSERT(send_phase == receive_phase);
}

Sealer::Sealer() = default;
Sealer::Sealer(Sealer&&) noexcept = default;
Sealer& Sealer::operator=(Sealer&&) noexcept = default;
Sealer::~Sealer() = default;

Sealer::Sealer(Instant now, SealMode mode, const KeyMaterial& material, bool initiator,
               Limits limits)
    : mode_(mode), crc_kernel_(best_crc32c_kernel()) {
  static_assert(sizeof(Sealer) + sizeof(Keys) <= 4'096, "budget of a connection");
  if (mode == SealMode::kGmac) {
    const TrafficSecrets secrets = traffic_secrets(material);
    const Secret& sends = initiator ? secrets.initiator : secrets.responder;
    const Secret& receives = initiator ? secrets.responder : secrets.initiator;
    keys_ = std::make_unique<Keys>(now, sends, receives, initiator, limits);
  }
}

bool Sealer::phase_to_send(Instant now) { return keys_ != nullptr && keys_->phase_to_send(now); }

std::uint64_t Sealer::rekeys() const { return keys_ == nullptr ? 0 : keys_->send_phase; }

void Sealer::seal(MutableByteSpan head, ByteSpan tail, std::uint8_t path, std::uint64_t number,
                  bool key_phase) const {
  ZHINU_ASSERT(head.size() >= kFramesOffset);
  const Nonce nonce = {.prefix = path, .counter = number};
  const ByteSpan header = ByteSpan(head).first(kHeaderBytes);
  const ByteSpan frames = ByteSpan(head).subspan(kFramesOffset);
  Tag tag;
  if (mode_ == SealMode::kGmac) {
    ZHINU_ASSERT(key_phase == keys_->send_bit());
    tag = tail.empty() ? keys_->send.tag(nonce, header, frames)
                       : keys_->send.tag(nonce, std::array<ByteSpan, 3>{header, frames, tail});
  } else if (mode_ == SealMode::kCrc32c) {
    tag = crc_tag(crc_kernel_, nonce, header, frames, tail);
  }
  std::memcpy(head.data() + kTagOffset, tag.bytes.data(), sizeof tag.bytes);
}

bool Sealer::open(Instant now, ByteSpan packet, std::uint8_t path, std::uint64_t number,
                  bool key_phase) {
  if (packet.size() < kFramesOffset) return false;
  const Nonce nonce = {.prefix = path, .counter = number};
  const ByteSpan header = packet.first(kHeaderBytes);
  const ByteSpan frames = packet.subspan(kFramesOffset);
  Tag found;
  std::memcpy(found.bytes.data(), packet.data() + kTagOffset, sizeof found.bytes);
  if (mode_ == SealMode::kNone) return tag_equal(found, Tag{});
  if (mode_ == SealMode::kCrc32c)
    return tag_equal(found, crc_tag(crc_kernel_, nonce, header, frames, {}));

  const GmacKey* key = keys_->key_to_open(now, key_phase);
  if (key == nullptr || !tag_equal(found, key->tag(nonce, header, frames))) return false;
  keys_->on_opened(now, key_phase);
  return true;
}

}  // namespace zhinu::core

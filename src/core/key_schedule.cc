#include "core/key_schedule.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/aead_kdf.h"
#include "base/bytes.h"
#include "base/check.h"

namespace zhinu::core {
namespace {

// Ranks, incarnations, world: with them in the expansion, a packet of one pair, start or world
// has a bad tag in every other.
constexpr std::size_t kContextBytes = 32;
constexpr std::size_t kDirectionLabelBytes = 17;
using Context = std::array<std::byte, kContextBytes>;

Context context_of(const KeyMaterial& material) {
  Context context{};
  store_le(context.data(), material.initiator_rank);
  store_le(context.data() + 4, material.responder_rank);
  store_le(context.data() + 8, material.initiator_incarnation);
  store_le(context.data() + 16, material.responder_incarnation);
  store_le(context.data() + 24, material.world);
  return context;
}

// The label tells the direction. Label and context have fixed lengths, so that no two expansions
// share their input.
Secret first_secret(const Sha256Digest& connection_secret, std::string_view label,
                    const Context& context) {
  std::array<std::byte, kDirectionLabelBytes + kContextBytes> info{};
  ZHINU_ASSERT(label.size() == kDirectionLabelBytes);
  std::memcpy(info.data(), label.data(), label.size());
  std::memcpy(info.data() + label.size(), context.data(), context.size());
  Secret secret;
  hkdf_expand(connection_secret, info, secret);
  return secret;
}

}  // namespace

TrafficSecrets traffic_secrets(const KeyMaterial& material) {
  std::array<std::byte, 2 * wire::kHandshakeNonceBytes> salt{};
  std::copy(material.initiator_nonce.begin(), material.initiator_nonce.end(), salt.begin());
  std::copy(material.responder_nonce.begin(), material.responder_nonce.end(),
            salt.begin() + wire::kHandshakeNonceBytes);
  const Sha256Digest secret = hkdf_extract(salt, material.job_key);
  const Context context = context_of(material);
  return {.initiator = first_secret(secret, "zhinu 1 initiator", context),
          .responder = first_secret(secret, "zhinu 1 responder", context)};
}

PhaseKeys phase_keys(const Secret& secret, GmacKernel kernel) {
  // Of no bytes, GMAC is the encrypted counter block alone.
  const GmacKey generator(secret, kernel);
  return {.packet_key = generator.tag({.prefix = 0, .counter = 0}, {}, {}).bytes,
          .next = generator.tag({.prefix = 0, .counter = 1}, {}, {}).bytes};
}

// HMAC, which needs no nonce: every rank tags with this key, and no one could keep their GMAC
// nonces apart. Under the job key itself, since deriving a key would double what it costs to
// refuse a stranger; no other message under that key starts with this label.
Tag handshake_tag(const JobKey& job_key, ByteSpan tagged) {
  constexpr std::string_view kLabel = "zhinu 1 handshake";
  std::array<std::byte, kLabel.size() + wire::kHandshakeBytes> message{};
  ZHINU_ASSERT(kLabel.size() + tagged.size() <= message.size());
  std::memcpy(message.data(), kLabel.data(), kLabel.size());
  std::copy(tagged.begin(), tagged.end(), message.begin() + kLabel.size());
  const Sha256Digest mac =
      hmac_sha256(job_key, ByteSpan(message).first(kLabel.size() + tagged.size()));
  Tag tag;
  std::memcpy(tag.bytes.data(), mac.data(), sizeof tag.bytes);
  return tag;
}

}  // namespace zhinu::core

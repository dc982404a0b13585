// What the two roles of the handshake share: the terms that each side states and
// what follows from both. Internal to core/handshake*. Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/handshake.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

// A packet that says who we are and what we take; the caller fills in the rest.
inline wire::HandshakePacket terms_of(const HandshakeContext& context) {
  wire::HandshakePacket packet;
  packet.version_min = context.version_min;
  packet.version_max = context.version_max;
  packet.path_count = context.path_count;
  packet.world = context.identity.world;
  packet.incarnation = context.identity.incarnation;
  packet.rank = context.identity.rank;
  packet.packet_bytes_max = context.packet_bytes_max;
  packet.eager_bytes_max = context.eager_bytes_max;
  return packet;
}

// All but the keys. `theirs` is the peer's HELLO or WELCOME.
inline Established agreed(const HandshakeContext& context, const wire::HandshakePacket& theirs,
                          std::uint8_t version, std::uint64_t local_connection) {
  Established established;
  established.local_connection = local_connection;
  established.remote_connection = theirs.source_connection;
  established.rank = theirs.rank;
  established.incarnation = theirs.incarnation;
  established.version = version;
  established.path_count = std::min(theirs.path_count, context.path_count_max);
  established.packet_bytes_max = std::min(theirs.packet_bytes_max, context.packet_bytes_max);
  established.eager_bytes_max = std::min(theirs.eager_bytes_max, context.eager_bytes_max);
  return established;
}

}  // namespace zhinu::core

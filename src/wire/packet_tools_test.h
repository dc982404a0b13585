// Means to make, compare, encode and decode packets in the tests of the codec.
//
// Random packets come from a generator of the caller, so a seed names one. Payloads
// borrow from storage that outlives the tests. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "wire/codec.h"

namespace zhinu::wire::test {

// Any packet that encode() takes, of at most `frames_max` frames.
Packet random_packet(Prng& prng, std::size_t frames_max);

// The packet that a decoder must return for `packet`: numbers cut to 32 bits.
Packet as_decoded(const Packet& packet);

// Empty if the packets are equal, payloads by their bytes; else what differs.
std::string difference(const Packet& left, const Packet& right);

// The bytes of a packet that encode() must take; nothing is gathered.
std::vector<std::byte> encoded(const Packet& packet);
// What encode() says; kOk if it takes the packet.
Errc encode_error(const Packet& packet);
// What decode_header() and then decode_frames() say; kOk if both take the bytes.
// Payloads of `out` borrow from `bytes`.
Errc decode(ByteSpan bytes, Packet& out);

// Makes a decoded packet one that can be encoded again: a receiver that expects numbers around
// the ones it got has expanded those of its ACK ranges.
inline void expand_packet(Packet& packet) {
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    Frame& frame = packet.frames[i];
    if (frame.kind == FrameKind::kAck) frame.number = packet.ack_ranges[frame.token].last;
  }
}

}  // namespace zhinu::wire::test

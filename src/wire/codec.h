// Packets to bytes and back. Pure functions: no state, no allocation.
//
// Decoding trusts nothing: every length is checked before it is used, unknown
// kinds and reserved bits are refused with a reason. Thread rule: none needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/handshake_packet.h"
#include "wire/packet.h"

namespace zhinu::wire {

// The whole number nearest to `expected` whose low 32 bits are `truncated`
// (RFC 9000, appendix A.3, with 32 bits always).
std::uint64_t expand_number(std::uint32_t truncated, std::uint64_t expected);

// Bytes that a frame takes without its payload. Defined inline below for speed.
std::size_t frame_bytes(const Frame& frame);

// An encoded packet: `head_bytes` in the caller's buffer, then `tail`, which
// borrows the payload of the last frame when it was not copied.
struct Encoded {
  std::size_t head_bytes = 0;
  ByteSpan tail;
};

// Writes header, a zero tag and all frames to `out`. A payload of the last frame
// of at least `tail_bytes_min` bytes is not copied but returned as `tail`
// (gather); pass SIZE_MAX to copy everything.
// kBadLength  `out` is too small, or the packet would exceed kPacketBytesMax.
Result<Encoded> encode(const Packet& packet, MutableByteSpan out, std::size_t tail_bytes_min);

// True if the datagram starts like a handshake packet; decides which decoder to call.
bool is_handshake(ByteSpan datagram);

// Reads the header only, so that the caller can find the connection and check
// the tag before anything else is looked at. `packet_bytes` receives the length
// that the packet states, at most `datagram.size()`: a receive-offload buffer
// holds several packets back to back.
// kTruncatedPacket, kBadLength, kBadKind, kBadClass.
Status decode_header(ByteSpan datagram, Header& header, std::size_t& packet_bytes);

// Reads all frames of one packet (`packet` is exactly one packet long, header
// already decoded into out.header). Payload pointers borrow from `packet`.
// kBadFrame, kBadLength, kTruncatedPacket.
Status decode_frames(ByteSpan packet, Packet& out);

// Handshake packets: `out` gets kHandshakeBytes with a zero tag at the end.
Status encode_handshake(const HandshakePacket& packet, MutableByteSpan out);
// kTruncatedPacket, kBadLength, kBadKind, kBadFrame (reserved bytes not zero).
// The version is not checked here.
Status decode_handshake(ByteSpan datagram, HandshakePacket& out);

}  // namespace zhinu::wire

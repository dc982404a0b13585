// Packets to bytes and back. Pure functions: no state, no allocation.
//
// Decoding trusts nothing: every length is checked before it is used, unknown
// kinds and reserved bits are refused with a reason. Thread rule: none needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/result.h"
#include "wire/handshake_packet.h"
#include "wire/packet.h"

namespace zhinu::wire {

// The whole number nearest to `expected` whose low 32 bits are `truncated`
// (RFC 9000, appendix A.3, with 32 bits always).
//
// In a decoded packet the header's number and message base are such truncated values, and so are
// the numbers of ACK, grant, refuse and cancel. Those that are base + delta are whole if the base
// was expanded between decode_header() and decode_frames().
std::uint64_t expand_number(std::uint32_t truncated, std::uint64_t expected);

// Turns the ranges of one decoded ACK frame into whole packet numbers.
//
// `largest` is the frame's number, expanded. Before this call the first range ends
// at 2^32 + (low 32 bits of largest), and the others lie below it at their true
// distances, so that no decoded range can underflow.
// kBadAck  a range would reach below zero; the ranges are left as they were.
[[nodiscard]] Status rebase_ack_ranges(std::span<AckRange> ranges, std::uint64_t largest);

// Bytes of each kind of frame before its payload; of an ACK with one range.
// Padding has none of its own: Frame::length counts all of it.
inline constexpr std::array<std::uint8_t, kFrameKinds> kFrameBytes = {
    0, 20, 12, 12, 12, 24, 32, 44, 32, 12, 24, 20, 12, 4, 12, 8, 24, 4, 12, 12};
constexpr std::size_t bytes_of(FrameKind kind) {
  return kFrameBytes[static_cast<std::size_t>(kind)];
}
inline constexpr std::size_t kAckRangeBytes = 8;  // each range after the first

// Bytes that a frame takes without its payload.
inline std::size_t frame_bytes(const Frame& frame) {
  const auto kind = static_cast<std::size_t>(frame.kind);
  ZHINU_ASSERT(kind < kFrameKinds);
  if (frame.kind == FrameKind::kAck) {
    return bytes_of(FrameKind::kAck) - kAckRangeBytes + kAckRangeBytes * frame.peer_token;
  }
  return frame.kind == FrameKind::kPadding ? frame.length : bytes_of(frame.kind);
}

// True for the kinds whose `payload` follows the frame.
constexpr bool has_payload(FrameKind kind) {
  return kind == FrameKind::kMessage || kind == FrameKind::kMessageDigest ||
         kind == FrameKind::kSegment || kind == FrameKind::kPut || kind == FrameKind::kReadData;
}

// An encoded packet: `head_bytes` in the caller's buffer, then `tail`, which
// borrows the payload of the last frame when it was not copied.
struct Encoded {
  std::size_t head_bytes = 0;
  ByteSpan tail;
};

// Writes header, a zero tag and all frames to `out`. A payload of the last frame
// of at least `tail_bytes_min` bytes is not copied but returned as `tail`
// (gather); pass SIZE_MAX to copy everything. After an error `out` holds rubbish.
// kBadLength        `out` is too small, a payload exceeds kPayloadBytesMax, or the
//                   packet would exceed kPacketBytesMax.
// kInvalidArgument  a frame cannot be written: unknown kind or class, number not
//                   within kMessageDeltaMax of the base, a field too large for its
//                   bits, an absent payload, no code where one is due, ACK ranges
//                   out of order, padding before another frame, no frame at all.
Result<Encoded> encode(const Packet& packet, MutableByteSpan out, std::size_t tail_bytes_min);

// True if the datagram starts like a handshake packet; decides which decoder to call.
bool is_handshake(ByteSpan datagram);

// Reads the header only, so that the caller can find the connection and check
// the tag before anything else is looked at. `packet_bytes` receives the length
// that the packet states, at most `datagram.size()`: a receive-offload buffer
// holds several packets back to back.
// kTruncatedPacket  the datagram is shorter than a header, or than the packet.
// kBadLength        the stated length has no room for a frame, or is over the limit.
// kBadKind          not a data packet, or reserved bits are set.
// kBadClass         no such traffic class.
Status decode_header(ByteSpan datagram, Header& header, std::size_t& packet_bytes);

// Reads all frames of one packet (`packet` is exactly one packet long, header
// already decoded into out.header). Payload pointers borrow from `packet`.
// After an error `out` holds no frames.
// kTruncatedPacket  the packet ends inside the fixed part of a frame.
// kBadLength        a payload reaches beyond the packet, or the packet has a size
//                   that decode_header does not pass.
// kBadFrame         unknown kind, reserved bits set, a missing code, a range of
//                   bytes or of ACKs that is impossible, too many frames or ranges.
// kBadClass         a frame names no traffic class.
Status decode_frames(ByteSpan packet, Packet& out);

// Handshake packets: `out` gets kHandshakeBytes with a zero tag at the end.
// kBadLength        `out` is too small.
// kInvalidArgument  unknown kind, a refusal without a code, or a code without one.
Status encode_handshake(const HandshakePacket& packet, MutableByteSpan out);
// The datagram is exactly one packet: cut a receive-offload buffer at kHandshakeBytes.
// The protocol versions are not checked here.
// kTruncatedPacket  fewer bytes than kHandshakeBytes.
// kBadLength        more bytes, or the stated length differs.
// kBadKind          unknown kind, or not zhinu's magic number.
// kBadVersion       the layout revision is not ours; nothing behind it was read.
// kBadFrame         reserved bytes set, a refusal without a code, or a code without one.
Status decode_handshake(ByteSpan datagram, HandshakePacket& out);

}  // namespace zhinu::wire

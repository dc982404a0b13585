// Single frames to bytes and back: what the loops in encode() and decode_frames() call.
//
// Internal to the codec. The three frames that carry user data, which a packet holds
// by the dozen, are handled inside those loops (`is_hot`); all others go through
// write_frame() and read_frame(), so that the loops stay small enough for registers.
// Pure functions. Thread rule: none needed.
#pragma once

#include <limits>

#include "wire/codec.h"
#include "wire/frame_layout.h"

namespace zhinu::wire {

// The bytes that one frame took, or why it is refused.
struct Step {
  std::uint32_t bytes = 0;
  Errc error = Errc::kOk;
};

constexpr Step refused(Errc error) { return {.bytes = 0, .error = error}; }

constexpr bool is_hot(FrameKind kind) {
  return kind == FrameKind::kMessage || kind == FrameKind::kMessageDigest ||
         kind == FrameKind::kSegment;
}

// True for the kinds that open a message: they hold its number as a delta.
constexpr bool is_numbered(FrameKind kind) {
  return kind >= FrameKind::kMessage && kind <= FrameKind::kReadAnnounce;
}

// A message's number; whole if the caller made the base so.
inline std::uint64_t number_of(std::uint8_t delta, const Header& header) {
  return header.message_base + delta;
}

// True if [offset, offset + length) is within 64 bits.
constexpr bool is_range(std::uint64_t offset, std::uint64_t length) {
  return length <= std::numeric_limits<std::uint64_t>::max() - offset;
}

// Writes a frame that is not hot, without its payload, to the `room` bytes at `to`.
// kBadLength, kInvalidArgument: as encode().
Step write_frame(const Packet& packet, const Frame& frame, bool is_last, std::byte* to,
                 std::size_t room);

// The ACK's share of write_frame(); `to` has room for frame_bytes().
Errc write_ack(const Packet& packet, const Frame& frame, std::byte* to);

// Reads a frame that is not hot from the `left` bytes at `from` to the end of the
// packet, its ACK ranges to the end of those of `packet`. `left` is at least
// kFrameBytes of its kind, which is a known one.
// kBadFrame, kBadLength, kTruncatedPacket, kBadClass: as decode_frames().
Step read_frame(const std::byte* from, std::size_t left, Frame& frame, Packet& packet);

// The ACK's share of read_frame().
Step read_ack(const std::byte* from, std::size_t left, Frame& frame, Packet& packet);

}  // namespace zhinu::wire

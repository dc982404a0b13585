// The packet as a structure: what the core produces and consumes.
//
// A packet is a header and a list of frames. The core fills and reads this
// structure; `codec.h` turns it into bytes and back, sealing is done by the
// caller of the codec. docs/wire-format.md is the byte-exact description.
// Ownership: payload pointers borrow, from user memory when a packet is built,
// from the datagram when one was decoded. Numbers are whole (64 bits) when a
// packet is built. After decoding, `Header::number` and `Header::message_base` hold
// the 32 bits that were on the wire until the receiver has expanded them, and other
// numbers as codec.h says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "base/result.h"
#include "wire/traffic_class.h"

namespace zhinu::wire {

inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kHeaderBytes = 20;  // before the tag
inline constexpr std::size_t kTagOffset = kHeaderBytes;
inline constexpr std::size_t kFramesOffset = kHeaderBytes + kTagBytes;
inline constexpr std::size_t kMessageFrameBytes = 12;
inline constexpr std::size_t kSegmentFrameBytes = 12;
// Promise of the format: at most 52 bytes before the payload of one message.
static_assert(kFramesOffset <= 40);
static_assert(kFramesOffset + kMessageFrameBytes <= 52);

inline constexpr std::size_t kPacketBytesMax = 65'507;  // one UDP datagram
inline constexpr std::size_t kFramesMax = 128;          // frames in one packet
inline constexpr std::size_t kAckRangesMax = 64;        // ranges in one packet, all ACK frames
inline constexpr std::size_t kAckRangesPerFrameMax = 32;
inline constexpr std::size_t kSegmentUnitBytes = 128;    // segments are multiples, but a last one
inline constexpr std::uint32_t kMessageDeltaMax = 255;   // number minus Header::message_base
inline constexpr std::uint32_t kDigestMax = 0xff'ffff;   // 24 bits, but in an abort frame
inline constexpr std::uint32_t kDigestTagMax = 0xffff;   // tag of a kMessageDigest frame
inline constexpr std::size_t kPayloadBytesMax = 65'535;  // of one frame, by its length field

// The wire value of each frame; never reuse one.
enum class FrameKind : std::uint8_t {
  kPadding = 0x00,  // the rest of the packet is zero
  kAck = 0x01,
  kMessage = 0x02,        // a whole small message, 32-bit tag
  kMessageDigest = 0x03,  // a whole small message, 16-bit tag and 24-bit digest
  kSegment = 0x04,        // a piece of a granted message
  kAnnounce = 0x05,       // a message that waits for a grant
  kPut = 0x06,            // a whole small one-sided write
  kWrite = 0x07,          // a one-sided write that waits for a grant
  kRead = 0x08,           // a request to read a region
  kReadData = 0x09,       // a whole small answer to a read
  kReadAnnounce = 0x0a,   // an answer to a read that waits for a grant
  kGrant = 0x0b,
  kCredit = 0x0c,
  kCreditProbe = 0x0d,
  kRefuse = 0x0e,  // a message was not taken: not held, or an error
  kCancel = 0x0f,  // the sender gave a message up; its number is void
  kAbort = 0x10,   // a communicator was aborted
  kClose = 0x11,   // the connection ends
  kPathProbe = 0x12,
  kPathResponse = 0x13,
};
inline constexpr std::size_t kFrameKinds = 0x14;

// Frame::flags bits.
inline constexpr std::uint8_t kFlagNotify = 0x01;   // put, write: tell the target's user
inline constexpr std::uint8_t kFlagOrdered = 0x02;  // put, write: notifications in order
inline constexpr std::uint8_t kFlagsKnown = kFlagNotify | kFlagOrdered;

struct Header {
  TrafficClass traffic_class = TrafficClass::kControl;
  bool key_phase = false;
  std::uint8_t path = 0;           // in the sender's numbering
  std::uint64_t connection = 0;    // the receiver's connection id
  std::uint64_t number = 0;        // packet number on `path`
  std::uint64_t message_base = 0;  // message frames count their number from here
};

// Packets [first, last] of a path arrived. In a packet that is built: whole packet
// numbers. In a decoded packet: numbers above an unknown base, until the receiver
// has called rebase_ack_ranges() (codec.h) for the ranges of each ACK frame.
struct AckRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// One frame. Which members mean something depends on `kind`; see each comment.
// One cache line, as small messages are built and read through it.
struct Frame {
  FrameKind kind = FrameKind::kPadding;
  TrafficClass traffic_class = TrafficClass::kControl;  // grant, credit, credit probe, refuse,
                                                        // cancel: the flow that is meant
  std::uint8_t order = 0;  // message, announce: distance in message numbers to the communicator's
                           // previous message, unless all up to that were seen before;
                           // 0 none, 255 "255 or more"
  std::uint8_t flags = 0;  // put, write: kFlag bits.  ack, path probe, path response: path index
  std::uint16_t communicator = 0;
  Errc code = Errc::kOk;     // refuse, cancel, abort, close.  read announce: why there is no data
  std::uint32_t tag = 0;     // message, announce.  ack: delay in microseconds.
                             // put, write: immediate.  abort: rank that saw the fault
  std::uint32_t digest = 0;  // message, announce: 24 bits, 0 = none.  put, write: distance to
                             // the ordered write before it.  ack: cumulative ECN-marked packets.
                             // abort: digest of the rank that saw the fault
  std::uint64_t number = 0;  // message number in the flow.  read data, read announce: the number
                             // of this answer.  ack: largest packet number that arrived, the last
                             // of its first range.  abort: digest of the other rank
  std::uint32_t token = 0;   // slot that the receiver of this frame, or its answers, must name:
                             // announce, write, read, read announce: the sender's;
                             // grant, refuse, read data: the one given before.
                             // abort: the other rank.  ack: index of its first range
  std::uint32_t peer_token = 0;  // read announce: the reader's token.
                                 // ack: count of ranges (highest range first)
  std::uint64_t offset = 0;  // segment: offset in the message.  put, write, read: in the region.
                             // grant: bytes that may be sent.  credit: receives posted, cumulative.
                             // read data, read announce: number of the read that is answered.
                             // path probe, path response: the challenge
  std::uint64_t length = 0;  // announce, write, read, read announce: bytes of the message.
                             // frames with payload: bytes of the payload.  padding: bytes
  const std::byte* payload = nullptr;  // message, segment, put, read data: `length` bytes
  std::uint64_t region_key = 0;        // put, write, read
};
static_assert(sizeof(Frame) == 64);

struct Packet {
  Header header;
  std::uint32_t frame_count = 0;
  std::uint32_t ack_range_count = 0;
  std::array<Frame, kFramesMax> frames;  // [0, frame_count) are valid
  std::array<AckRange, kAckRangesMax> ack_ranges;

  void clear() {
    frame_count = 0;
    ack_range_count = 0;
  }
  // A fresh frame at the end. The caller checked `has_room()`.
  Frame& add(FrameKind kind) {
    ZHINU_ASSERT(frame_count < kFramesMax);
    Frame& frame = frames[frame_count++];
    frame = Frame{};
    frame.kind = kind;
    return frame;
  }
  // Like add(), for a caller that assigns the whole frame: it holds what was there before.
  Frame& add() {
    ZHINU_ASSERT(frame_count < kFramesMax);
    return frames[frame_count++];
  }
  bool has_room() const { return frame_count < kFramesMax; }
};

}  // namespace zhinu::wire

// The bytes of the data packet's header and of every frame, as structures.
//
// Internal to the codec: one definition for both directions. A member named
// `zero`, and the unnamed bits of `flags` and `form`, are reserved: written as
// zero, refused when not zero. Little-endian as base/bytes.h demands; packed where
// natural alignment would add bytes. docs/wire-format.md is the same in tables.
// Thread rule: plain values, no state.
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace zhinu::wire {

// Bits of HeaderLayout::form; the traffic class is in the lowest three.
inline constexpr std::uint8_t kFormData = 0x80;
inline constexpr std::uint8_t kFormKeyPhase = 0x40;
inline constexpr std::uint8_t kFormReserved = 0x38;
inline constexpr std::uint8_t kFormClass = 0x07;
// The two highest bits of a handshake packet's first byte; its kind is below.
inline constexpr std::uint8_t kFormHandshake = 0x40;
inline constexpr std::uint8_t kFormHandshakeMask = 0xc0;

struct [[gnu::packed]] HeaderLayout {
  std::uint8_t form;
  std::uint8_t path;
  std::uint16_t length;  // of the packet, tag included
  std::uint32_t number;
  std::uint64_t connection;
  std::uint32_t message_base;
};
static_assert(sizeof(HeaderLayout) == kHeaderBytes);

// The three hot frames have no structure. Compilers write one member at a time and
// read through a copy on the stack, so codec_encode.cc and codec_decode.cc build
// and take apart whole words instead:
//
//   bits   0..7 kind   8..15 delta   16..31 length
//   message         32..47 communicator   48..55 order   56..63 zero   64..95 tag
//   message digest  32..47 communicator   48..55 order   56..79 digest   80..95 tag
//   segment         32..95 offset

struct AnnounceLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t communicator;
  std::uint8_t order;
  std::uint8_t digest_low;    // bits 0..7
  std::uint16_t digest_high;  // bits 8..23
  std::uint32_t tag;
  std::uint32_t token;
  std::uint64_t length;
};

struct PutLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t length;
  std::uint16_t communicator;
  std::uint16_t flags;
  std::uint32_t immediate;
  std::uint32_t behind;
  std::uint64_t region_key;
  std::uint64_t offset;
};

struct [[gnu::packed]] WriteLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t communicator;
  std::uint32_t token;
  std::uint32_t immediate;
  std::uint32_t behind;
  std::uint64_t region_key;
  std::uint64_t offset;
  std::uint64_t length;
  std::uint32_t flags;
};

struct ReadLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t communicator;
  std::uint32_t token;
  std::uint64_t region_key;
  std::uint64_t offset;
  std::uint64_t length;
};

struct ReadDataLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t length;
  std::uint32_t token;
  std::uint32_t read_number;
};

struct ReadAnnounceLayout {
  std::uint8_t kind;
  std::uint8_t delta;
  std::uint16_t code;
  std::uint32_t token;
  std::uint32_t peer_token;
  std::uint32_t read_number;
  std::uint64_t length;
};

struct [[gnu::packed]] GrantLayout {
  std::uint8_t kind;
  std::uint8_t traffic_class;
  std::uint16_t zero;
  std::uint32_t token;
  std::uint32_t number;
  std::uint64_t offset;
};

struct [[gnu::packed]] CreditLayout {
  std::uint8_t kind;
  std::uint8_t traffic_class;
  std::uint16_t communicator;
  std::uint64_t receives;
};

struct CreditProbeLayout {
  std::uint8_t kind;
  std::uint8_t traffic_class;
  std::uint16_t communicator;
};

struct RefuseLayout {
  std::uint8_t kind;
  std::uint8_t traffic_class;
  std::uint16_t code;
  std::uint32_t number;
  std::uint32_t token;
};

struct CancelLayout {
  std::uint8_t kind;
  std::uint8_t traffic_class;
  std::uint16_t code;
  std::uint32_t number;
};

struct AbortLayout {
  std::uint8_t kind;
  std::uint8_t zero;
  std::uint16_t communicator;
  std::uint16_t code;
  std::uint16_t zero2;
  std::uint32_t rank;
  std::uint32_t other_rank;
  std::uint32_t digest;
  std::uint32_t other_digest;
};

struct CloseLayout {
  std::uint8_t kind;
  std::uint8_t zero;
  std::uint16_t code;
};

struct [[gnu::packed]] PathChallengeLayout {  // path probe and path response
  std::uint8_t kind;
  std::uint8_t path;
  std::uint16_t zero;
  std::uint64_t challenge;
};

struct AckLayout {
  std::uint8_t kind;
  std::uint8_t path;
  std::uint8_t range_count;
  std::uint8_t zero;
  std::uint32_t largest;
  std::uint32_t delay_us;
  std::uint32_t marked_packets;
  std::uint32_t first_range_minus_1;  // packets in the first range, minus one
};

struct AckRangeLayout {
  std::uint32_t gap_minus_1;    // packets missing above this range, minus one
  std::uint32_t range_minus_1;  // packets in this range, minus one
};
static_assert(sizeof(AckRangeLayout) == kAckRangeBytes);

// Pins each structure to the size that codec.h tells the callers.
template <class Layout>
constexpr bool is_layout_of(FrameKind kind) {
  return sizeof(Layout) == bytes_of(kind);
}
static_assert(is_layout_of<AckLayout>(FrameKind::kAck));
static_assert(is_layout_of<AnnounceLayout>(FrameKind::kAnnounce));
static_assert(is_layout_of<PutLayout>(FrameKind::kPut));
static_assert(is_layout_of<WriteLayout>(FrameKind::kWrite));
static_assert(is_layout_of<ReadLayout>(FrameKind::kRead));
static_assert(is_layout_of<ReadDataLayout>(FrameKind::kReadData));
static_assert(is_layout_of<ReadAnnounceLayout>(FrameKind::kReadAnnounce));
static_assert(is_layout_of<GrantLayout>(FrameKind::kGrant));
static_assert(is_layout_of<CreditLayout>(FrameKind::kCredit));
static_assert(is_layout_of<CreditProbeLayout>(FrameKind::kCreditProbe));
static_assert(is_layout_of<RefuseLayout>(FrameKind::kRefuse));
static_assert(is_layout_of<CancelLayout>(FrameKind::kCancel));
static_assert(is_layout_of<AbortLayout>(FrameKind::kAbort));
static_assert(is_layout_of<CloseLayout>(FrameKind::kClose));
static_assert(is_layout_of<PathChallengeLayout>(FrameKind::kPathProbe));
static_assert(is_layout_of<PathChallengeLayout>(FrameKind::kPathResponse));

}  // namespace zhinu::wire

#include <cstring>
#include <limits>

#include "wire/codec.h"
#include "wire/frame_layout.h"

namespace zhinu::wire {
namespace {

// What one frame took from the packet, payload included, or why it is refused.
struct Step {
  std::uint32_t bytes = 0;
  Errc error = Errc::kOk;
};

Step refused(Errc error) { return {.bytes = 0, .error = error}; }

// The bytes from one frame to the end of its packet. Whoever reads a layout has
// checked `left` against the size of the fixed part.
struct Input {
  const std::byte* at;
  std::size_t left;
  std::uint32_t message_base;

  template <class Layout>
  Layout read() const {
    return load_le<Layout>(at);
  }
  FrameKind kind() const { return static_cast<FrameKind>(*at); }
  // The low 32 bits of the number of a message, in the packet's own base.
  std::uint32_t number(std::uint8_t delta) const { return message_base + delta; }
  template <class Layout>
  const std::byte* payload() const {
    return at + sizeof(Layout);
  }
  template <class Layout>
  Step done(std::size_t payload_bytes = 0) const {
    if (payload_bytes > left - sizeof(Layout)) return refused(Errc::kBadLength);
    return {.bytes = static_cast<std::uint32_t>(sizeof(Layout) + payload_bytes),
            .error = Errc::kOk};
  }
};

bool is_class(std::uint8_t byte) { return byte < kTrafficClasses; }

// True if [offset, offset + length) is within 64 bits.
bool is_range(std::uint64_t offset, std::uint64_t length) {
  return length <= std::numeric_limits<std::uint64_t>::max() - offset;
}

std::uint32_t digest_of(std::uint8_t low, std::uint16_t high) {
  return low | (std::uint32_t{high} << 8);
}

// Frames are assigned whole, so that no member keeps what an earlier packet left.

Step read_message(Input in, Frame& frame) {
  const auto from = in.read<MessageLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kMessage,
                .order = from.order,
                .communicator = from.communicator,
                .tag = from.tag,
                .number = in.number(from.delta),
                .length = from.length,
                .payload = in.payload<MessageLayout>()};
  return in.done<MessageLayout>(from.length);
}

Step read_message_digest(Input in, Frame& frame) {
  const auto from = in.read<MessageDigestLayout>();
  frame = Frame{.kind = FrameKind::kMessageDigest,
                .order = from.order,
                .communicator = from.communicator,
                .tag = from.tag,
                .digest = digest_of(from.digest_low, from.digest_high),
                .number = in.number(from.delta),
                .length = from.length,
                .payload = in.payload<MessageDigestLayout>()};
  return in.done<MessageDigestLayout>(from.length);
}

Step read_segment(Input in, Frame& frame) {
  const auto from = in.read<SegmentLayout>();
  if (from.offset % kSegmentUnitBytes != 0) return refused(Errc::kBadFrame);
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kSegment,
                .number = in.number(from.delta),
                .offset = from.offset,
                .length = from.length,
                .payload = in.payload<SegmentLayout>()};
  return in.done<SegmentLayout>(from.length);
}

Step read_announce(Input in, Frame& frame) {
  const auto from = in.read<AnnounceLayout>();
  frame = Frame{.kind = FrameKind::kAnnounce,
                .order = from.order,
                .communicator = from.communicator,
                .tag = from.tag,
                .digest = digest_of(from.digest_low, from.digest_high),
                .number = in.number(from.delta),
                .token = from.token,
                .length = from.length};
  return in.done<AnnounceLayout>();
}

Step read_put(Input in, Frame& frame) {
  const auto from = in.read<PutLayout>();
  if ((from.flags & ~kFlagsKnown) != 0) return refused(Errc::kBadFrame);
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kPut,
                .flags = static_cast<std::uint8_t>(from.flags),
                .communicator = from.communicator,
                .tag = from.immediate,
                .digest = from.sequence,
                .number = in.number(from.delta),
                .offset = from.offset,
                .length = from.length,
                .payload = in.payload<PutLayout>(),
                .region_key = from.region_key};
  return in.done<PutLayout>(from.length);
}

Step read_write(Input in, Frame& frame) {
  const auto from = in.read<WriteLayout>();
  if ((from.flags & ~std::uint32_t{kFlagsKnown}) != 0) return refused(Errc::kBadFrame);
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kWrite,
                .flags = static_cast<std::uint8_t>(from.flags),
                .communicator = from.communicator,
                .tag = from.immediate,
                .digest = from.sequence,
                .number = in.number(from.delta),
                .token = from.token,
                .offset = from.offset,
                .length = from.length,
                .region_key = from.region_key};
  return in.done<WriteLayout>();
}

Step read_read(Input in, Frame& frame) {
  const auto from = in.read<ReadLayout>();
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kRead,
                .communicator = from.communicator,
                .number = in.number(from.delta),
                .token = from.token,
                .offset = from.offset,
                .length = from.length,
                .region_key = from.region_key};
  return in.done<ReadLayout>();
}

Step read_read_data(Input in, Frame& frame) {
  const auto from = in.read<ReadDataLayout>();
  frame = Frame{.kind = FrameKind::kReadData,
                .number = in.number(from.delta),
                .token = from.token,
                .offset = from.read_number,
                .length = from.length,
                .payload = in.payload<ReadDataLayout>()};
  return in.done<ReadDataLayout>(from.length);
}

Step read_read_announce(Input in, Frame& frame) {
  const auto from = in.read<ReadAnnounceLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kReadAnnounce,
                .number = in.number(from.delta),
                .token = from.token,
                .peer_token = from.peer_token,
                .offset = from.read_number,
                .length = from.length};
  return in.done<ReadAnnounceLayout>();
}

Step read_grant(Input in, Frame& frame) {
  const auto from = in.read<GrantLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kGrant,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .number = from.number,
                .token = from.token,
                .offset = from.offset};
  return in.done<GrantLayout>();
}

Step read_credit(Input in, Frame& frame) {
  const auto from = in.read<CreditLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kCredit,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .communicator = from.communicator,
                .offset = from.cumulative_bytes};
  return in.done<CreditLayout>();
}

Step read_credit_probe(Input in, Frame& frame) {
  const auto from = in.read<CreditProbeLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kCreditProbe,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .communicator = from.communicator};
  return in.done<CreditProbeLayout>();
}

// A code of zero would be a failure without a reason, which Result cannot hold.
Step read_refuse(Input in, Frame& frame) {
  const auto from = in.read<RefuseLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kRefuse,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .code = static_cast<Errc>(from.code),
                .number = from.number,
                .token = from.token};
  return in.done<RefuseLayout>();
}

Step read_cancel(Input in, Frame& frame) {
  const auto from = in.read<CancelLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kCancel,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .code = static_cast<Errc>(from.code),
                .number = from.number};
  return in.done<CancelLayout>();
}

Step read_abort(Input in, Frame& frame) {
  const auto from = in.read<AbortLayout>();
  if (from.zero != 0 || from.zero2 != 0) return refused(Errc::kBadFrame);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kAbort,
                .communicator = from.communicator,
                .code = static_cast<Errc>(from.code),
                .tag = from.rank,
                .digest = from.digest,
                .number = from.other_digest,
                .token = from.other_rank};
  return in.done<AbortLayout>();
}

Step read_close(Input in, Frame& frame) {
  const auto from = in.read<CloseLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kClose, .code = static_cast<Errc>(from.code)};
  return in.done<CloseLayout>();
}

Step read_path_challenge(Input in, Frame& frame) {
  const auto from = in.read<PathChallengeLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = in.kind(), .flags = from.path, .offset = from.challenge};
  return in.done<PathChallengeLayout>();
}

Step read_padding(Input in, Frame& frame) {
  // All bytes are zero if the first one is and each equals its neighbour.
  if (std::memcmp(in.at, in.at + 1, in.left - 1) != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kPadding, .length = in.left};
  return {.bytes = static_cast<std::uint32_t>(in.left), .error = Errc::kOk};
}

// Takes `distance` numbers off `*number`. False if it would leave the 32 bits below
// the largest one: more than the peer can mean, and the way to wrap below zero.
bool descend(std::uint64_t& number, std::uint64_t distance, std::uint64_t lowest) {
  if (distance > number - lowest) return false;
  number -= distance;
  return true;
}

Step read_ack(Input in, Frame& frame, Packet& packet) {
  const auto from = in.read<AckLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  if (from.range_count == 0 || from.range_count > kAckRangesPerFrameMax ||
      from.range_count > kAckRangesMax - packet.ack_range_count) {
    return refused(Errc::kBadFrame);
  }
  const std::size_t bytes = sizeof(AckLayout) + (from.range_count - 1U) * sizeof(AckRangeLayout);
  if (bytes > in.left) return refused(Errc::kTruncatedPacket);
  AckRange* const ranges = &packet.ack_ranges[packet.ack_range_count];
  const std::uint64_t last = (std::uint64_t{1} << 32) + from.largest;
  const std::uint64_t lowest = std::uint64_t{from.largest} + 1;
  std::uint64_t number = last;
  if (!descend(number, from.first_range_minus_1, lowest)) return refused(Errc::kBadFrame);
  ranges[0] = {.first = number, .last = last};
  const std::byte* at = in.at + sizeof(AckLayout);
  for (std::size_t i = 1; i < from.range_count; ++i, at += sizeof(AckRangeLayout)) {
    const auto next = load_le<AckRangeLayout>(at);
    if (!descend(number, std::uint64_t{next.gap_minus_1} + 2, lowest)) {
      return refused(Errc::kBadFrame);
    }
    ranges[i].last = number;
    if (!descend(number, next.range_minus_1, lowest)) return refused(Errc::kBadFrame);
    ranges[i].first = number;
  }
  frame = Frame{.kind = FrameKind::kAck,
                .flags = from.path,
                .tag = from.delay_us,
                .digest = from.marked_packets,
                .number = from.largest,
                .token = packet.ack_range_count,
                .peer_token = from.range_count};
  packet.ack_range_count += from.range_count;
  return {.bytes = static_cast<std::uint32_t>(bytes), .error = Errc::kOk};
}

inline Step read_frame(Input in, Frame& frame, Packet& packet) {
  const auto kind = static_cast<std::size_t>(in.kind());
  if (kind >= kFrameKinds) return refused(Errc::kBadFrame);
  if (in.left < kFrameBytes[kind]) return refused(Errc::kTruncatedPacket);
  switch (in.kind()) {
    case FrameKind::kMessage:
      return read_message(in, frame);
    case FrameKind::kMessageDigest:
      return read_message_digest(in, frame);
    case FrameKind::kSegment:
      return read_segment(in, frame);
    case FrameKind::kPadding:
      return read_padding(in, frame);
    case FrameKind::kAck:
      return read_ack(in, frame, packet);
    case FrameKind::kAnnounce:
      return read_announce(in, frame);
    case FrameKind::kPut:
      return read_put(in, frame);
    case FrameKind::kWrite:
      return read_write(in, frame);
    case FrameKind::kRead:
      return read_read(in, frame);
    case FrameKind::kReadData:
      return read_read_data(in, frame);
    case FrameKind::kReadAnnounce:
      return read_read_announce(in, frame);
    case FrameKind::kGrant:
      return read_grant(in, frame);
    case FrameKind::kCredit:
      return read_credit(in, frame);
    case FrameKind::kCreditProbe:
      return read_credit_probe(in, frame);
    case FrameKind::kRefuse:
      return read_refuse(in, frame);
    case FrameKind::kCancel:
      return read_cancel(in, frame);
    case FrameKind::kAbort:
      return read_abort(in, frame);
    case FrameKind::kClose:
      return read_close(in, frame);
    case FrameKind::kPathProbe:
    case FrameKind::kPathResponse:
      return read_path_challenge(in, frame);
  }
  return refused(Errc::kBadFrame);
}

}  // namespace

Status decode_header(ByteSpan datagram, Header& header, std::size_t& packet_bytes) {
  if (datagram.size() < kFramesOffset) return Errc::kTruncatedPacket;
  const auto from = load_le<HeaderLayout>(datagram.data());
  if ((from.form & kFormData) == 0 || (from.form & kFormReserved) != 0) return Errc::kBadKind;
  if ((from.form & kFormClass) >= kTrafficClasses) return Errc::kBadClass;
  if (from.length <= kFramesOffset || from.length > kPacketBytesMax) return Errc::kBadLength;
  if (from.length > datagram.size()) return Errc::kTruncatedPacket;
  header = Header{.traffic_class = static_cast<TrafficClass>(from.form & kFormClass),
                  .key_phase = (from.form & kFormKeyPhase) != 0,
                  .path = from.path,
                  .connection = from.connection,
                  .number = from.number,
                  .message_base = from.message_base};
  packet_bytes = from.length;
  return {};
}

Status decode_frames(ByteSpan packet, Packet& out) {
  out.clear();
  if (packet.size() < kFramesOffset) return Errc::kTruncatedPacket;
  if (packet.size() == kFramesOffset || packet.size() > kPacketBytesMax) return Errc::kBadLength;
  const auto message_base = static_cast<std::uint32_t>(out.header.message_base);
  const std::byte* at = packet.data() + kFramesOffset;
  const std::byte* const end = packet.data() + packet.size();
  std::uint32_t count = 0;
  for (; at != end; ++count) {
    Step step = refused(Errc::kBadFrame);
    if (count < kFramesMax) {
      const auto left = static_cast<std::size_t>(end - at);
      step = read_frame({.at = at, .left = left, .message_base = message_base}, out.frames[count],
                        out);
    }
    if (step.error != Errc::kOk) {
      out.clear();
      return step.error;
    }
    at += step.bytes;
  }
  out.frame_count = count;
  return {};
}

}  // namespace zhinu::wire

#include <algorithm>
#include <cstring>
#include <limits>

#include "wire/codec.h"
#include "wire/frame_layout.h"

namespace zhinu::wire {
namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

std::uint8_t byte_of(FrameKind kind) { return static_cast<std::uint8_t>(kind); }
std::uint8_t byte_of(TrafficClass traffic_class) {
  return static_cast<std::uint8_t>(traffic_class);
}
std::uint32_t low32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::uint16_t code_of(const Frame& frame) { return static_cast<std::uint16_t>(frame.code); }

// Kind, delta and length as the first four bytes of a frame with payload.
std::uint64_t payload_head(const Frame& frame, std::uint8_t delta) {
  return byte_of(frame.kind) | (std::uint64_t{delta} << 8) | (frame.length << 16);
}

// The three frames that carry user data are written as whole words: from separate
// members compilers make separate stores, and these frames are the hot path.
Errc write_message(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (frame.digest != 0) return Errc::kInvalidArgument;
  store_le(to, payload_head(frame, delta) | (std::uint64_t{frame.communicator} << 32) |
                   (std::uint64_t{frame.order} << 48));
  store_le(to + 8, frame.tag);
  return Errc::kOk;
}

Errc write_message_digest(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (frame.digest > kDigestMax || frame.tag > kDigestTagMax) return Errc::kInvalidArgument;
  store_le(to, payload_head(frame, delta) | (std::uint64_t{frame.communicator} << 32) |
                   (std::uint64_t{frame.order} << 48) | (std::uint64_t{frame.digest} << 56));
  store_le(to + 8, (frame.digest >> 8) | (frame.tag << 16));
  return Errc::kOk;
}

Errc write_segment(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (frame.offset % kSegmentUnitBytes != 0) return Errc::kInvalidArgument;
  if (frame.length > std::numeric_limits<std::uint64_t>::max() - frame.offset) {
    return Errc::kInvalidArgument;
  }
  store_le(to, low32(payload_head(frame, delta)));
  store_le(to + 4, frame.offset);
  return Errc::kOk;
}

Errc write_announce(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (frame.digest > kDigestMax) return Errc::kInvalidArgument;
  store_le(to, AnnounceLayout{.kind = byte_of(frame.kind),
                              .delta = delta,
                              .communicator = frame.communicator,
                              .order = frame.order,
                              .digest_low = static_cast<std::uint8_t>(frame.digest),
                              .digest_high = static_cast<std::uint16_t>(frame.digest >> 8),
                              .tag = frame.tag,
                              .token = frame.token,
                              .length = frame.length});
  return Errc::kOk;
}

// True if [offset, offset + length) of a region cannot exist, or a flag is unknown.
bool is_bad_access(const Frame& frame) {
  return frame.length > std::numeric_limits<std::uint64_t>::max() - frame.offset ||
         (frame.flags & ~kFlagsKnown) != 0;
}

Errc write_put(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (is_bad_access(frame)) return Errc::kInvalidArgument;
  store_le(to, PutLayout{.kind = byte_of(frame.kind),
                         .delta = delta,
                         .length = static_cast<std::uint16_t>(frame.length),
                         .communicator = frame.communicator,
                         .flags = frame.flags,
                         .immediate = frame.tag,
                         .sequence = frame.digest,
                         .region_key = frame.region_key,
                         .offset = frame.offset});
  return Errc::kOk;
}

Errc write_write(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (is_bad_access(frame)) return Errc::kInvalidArgument;
  store_le(to, WriteLayout{.kind = byte_of(frame.kind),
                           .delta = delta,
                           .communicator = frame.communicator,
                           .token = frame.token,
                           .immediate = frame.tag,
                           .sequence = frame.digest,
                           .region_key = frame.region_key,
                           .offset = frame.offset,
                           .length = frame.length,
                           .flags = frame.flags});
  return Errc::kOk;
}

Errc write_read(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (is_bad_access(frame)) return Errc::kInvalidArgument;
  store_le(to, ReadLayout{.kind = byte_of(frame.kind),
                          .delta = delta,
                          .communicator = frame.communicator,
                          .token = frame.token,
                          .region_key = frame.region_key,
                          .offset = frame.offset,
                          .length = frame.length});
  return Errc::kOk;
}

Errc write_read_data(const Frame& frame, std::uint8_t delta, std::byte* to) {
  store_le(to, ReadDataLayout{.kind = byte_of(frame.kind),
                              .delta = delta,
                              .length = static_cast<std::uint16_t>(frame.length),
                              .token = frame.token,
                              .read_number = low32(frame.offset)});
  return Errc::kOk;
}

Errc write_read_announce(const Frame& frame, std::uint8_t delta, std::byte* to) {
  store_le(to, ReadAnnounceLayout{.kind = byte_of(frame.kind),
                                  .delta = delta,
                                  .zero = 0,
                                  .token = frame.token,
                                  .peer_token = frame.peer_token,
                                  .read_number = low32(frame.offset),
                                  .length = frame.length});
  return Errc::kOk;
}

Errc write_grant(const Frame& frame, std::byte* to) {
  if (index_of(frame.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  store_le(to, GrantLayout{.kind = byte_of(frame.kind),
                           .traffic_class = byte_of(frame.traffic_class),
                           .zero = 0,
                           .token = frame.token,
                           .number = low32(frame.number),
                           .offset = frame.offset});
  return Errc::kOk;
}

Errc write_credit(const Frame& frame, std::byte* to) {
  if (index_of(frame.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  store_le(to, CreditLayout{.kind = byte_of(frame.kind),
                            .traffic_class = byte_of(frame.traffic_class),
                            .communicator = frame.communicator,
                            .cumulative_bytes = frame.offset});
  return Errc::kOk;
}

Errc write_credit_probe(const Frame& frame, std::byte* to) {
  if (index_of(frame.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  store_le(to, CreditProbeLayout{.kind = byte_of(frame.kind),
                                 .traffic_class = byte_of(frame.traffic_class),
                                 .communicator = frame.communicator});
  return Errc::kOk;
}

Errc write_refuse(const Frame& frame, std::byte* to) {
  if (index_of(frame.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  if (frame.code == Errc::kOk) return Errc::kInvalidArgument;
  store_le(to, RefuseLayout{.kind = byte_of(frame.kind),
                            .traffic_class = byte_of(frame.traffic_class),
                            .code = code_of(frame),
                            .number = low32(frame.number),
                            .token = frame.token});
  return Errc::kOk;
}

Errc write_cancel(const Frame& frame, std::byte* to) {
  if (index_of(frame.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  if (frame.code == Errc::kOk) return Errc::kInvalidArgument;
  store_le(to, CancelLayout{.kind = byte_of(frame.kind),
                            .traffic_class = byte_of(frame.traffic_class),
                            .code = code_of(frame),
                            .number = low32(frame.number)});
  return Errc::kOk;
}

Errc write_abort(const Frame& frame, std::byte* to) {
  if (frame.code == Errc::kOk || frame.number > kMax32) return Errc::kInvalidArgument;
  store_le(to, AbortLayout{.kind = byte_of(frame.kind),
                           .zero = 0,
                           .communicator = frame.communicator,
                           .code = code_of(frame),
                           .zero2 = 0,
                           .rank = frame.tag,
                           .other_rank = frame.token,
                           .digest = frame.digest,
                           .other_digest = low32(frame.number)});
  return Errc::kOk;
}

Errc write_close(const Frame& frame, std::byte* to) {
  store_le(to, CloseLayout{.kind = byte_of(frame.kind), .zero = 0, .code = code_of(frame)});
  return Errc::kOk;
}

Errc write_path_challenge(const Frame& frame, std::byte* to) {
  store_le(
      to,
      PathChallengeLayout{
          .kind = byte_of(frame.kind), .path = frame.flags, .zero = 0, .challenge = frame.offset});
  return Errc::kOk;
}

Errc write_padding(const Frame& frame, bool is_last, std::byte* to) {
  if (frame.length == 0 || !is_last) return Errc::kInvalidArgument;
  std::memset(to, 0, frame.length);
  return Errc::kOk;
}

// The ranges that an ACK frame names, or none if they are not in the packet.
std::span<const AckRange> ranges_of(const Packet& packet, const Frame& frame) {
  const std::size_t count = frame.peer_token;
  if (packet.ack_range_count > kAckRangesMax || count > kAckRangesPerFrameMax) return {};
  if (frame.token > packet.ack_range_count || count > packet.ack_range_count - frame.token) {
    return {};
  }
  return std::span(packet.ack_ranges).subspan(frame.token, count);
}

Errc write_ack(const Packet& packet, const Frame& frame, std::byte* to) {
  const auto ranges = ranges_of(packet, frame);
  if (ranges.empty() || ranges.front().last != frame.number) return Errc::kInvalidArgument;
  // After this check, and the order of the ranges checked below, every distance fits 32 bits.
  if (ranges.back().first > frame.number || frame.number - ranges.back().first > kMax32) {
    return Errc::kInvalidArgument;
  }
  if (ranges.front().first > ranges.front().last) return Errc::kInvalidArgument;
  store_le(to, AckLayout{.kind = byte_of(frame.kind),
                         .path = frame.flags,
                         .range_count = static_cast<std::uint8_t>(ranges.size()),
                         .zero = 0,
                         .largest = low32(frame.number),
                         .delay_us = frame.tag,
                         .marked_packets = frame.digest,
                         .first_range_minus_1 = low32(ranges[0].last - ranges[0].first)});
  to += sizeof(AckLayout);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::uint64_t above = ranges[i - 1].first;
    const auto [first, last] = ranges[i];
    // Ranges that touch are one range; `above - last` below 2 means touching.
    if (first > last || last >= above || above - last < 2) return Errc::kInvalidArgument;
    store_le(to, AckRangeLayout{.gap_minus_1 = low32(above - last - 2),
                                .range_minus_1 = low32(last - first)});
    to += sizeof(AckRangeLayout);
  }
  return Errc::kOk;
}

// Writes the part of `frame` before its payload; `to` has room for frame_bytes().
inline Errc write_frame(const Packet& packet, const Frame& frame, bool is_last, std::byte* to) {
  const std::uint64_t distance = frame.number - packet.header.message_base;
  if (is_numbered(frame.kind) && distance > kMessageDeltaMax) return Errc::kInvalidArgument;
  const auto delta = static_cast<std::uint8_t>(distance);
  switch (frame.kind) {
    case FrameKind::kMessage:
      return write_message(frame, delta, to);
    case FrameKind::kMessageDigest:
      return write_message_digest(frame, delta, to);
    case FrameKind::kSegment:
      return write_segment(frame, delta, to);
    case FrameKind::kPadding:
      return write_padding(frame, is_last, to);
    case FrameKind::kAck:
      return write_ack(packet, frame, to);
    case FrameKind::kAnnounce:
      return write_announce(frame, delta, to);
    case FrameKind::kPut:
      return write_put(frame, delta, to);
    case FrameKind::kWrite:
      return write_write(frame, delta, to);
    case FrameKind::kRead:
      return write_read(frame, delta, to);
    case FrameKind::kReadData:
      return write_read_data(frame, delta, to);
    case FrameKind::kReadAnnounce:
      return write_read_announce(frame, delta, to);
    case FrameKind::kGrant:
      return write_grant(frame, to);
    case FrameKind::kCredit:
      return write_credit(frame, to);
    case FrameKind::kCreditProbe:
      return write_credit_probe(frame, to);
    case FrameKind::kRefuse:
      return write_refuse(frame, to);
    case FrameKind::kCancel:
      return write_cancel(frame, to);
    case FrameKind::kAbort:
      return write_abort(frame, to);
    case FrameKind::kClose:
      return write_close(frame, to);
    case FrameKind::kPathProbe:
    case FrameKind::kPathResponse:
      return write_path_challenge(frame, to);
  }
  return Errc::kInvalidArgument;
}

Errc write_header(const Header& header, std::size_t packet_bytes, std::byte* to) {
  if (index_of(header.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  const auto form = static_cast<std::uint8_t>(kFormData | (header.key_phase ? kFormKeyPhase : 0) |
                                              byte_of(header.traffic_class));
  store_le(to, HeaderLayout{.form = form,
                            .path = header.path,
                            .length = static_cast<std::uint16_t>(packet_bytes),
                            .number = low32(header.number),
                            .connection = header.connection,
                            .message_base = low32(header.message_base)});
  std::memset(to + kTagOffset, 0, kTagBytes);
  return Errc::kOk;
}

}  // namespace

Result<Encoded> encode(const Packet& packet, MutableByteSpan out, std::size_t tail_bytes_min) {
  if (packet.frame_count == 0 || packet.frame_count > kFramesMax) return Errc::kInvalidArgument;
  if (out.size() < kFramesOffset) return Errc::kBadLength;
  std::byte* to = out.data() + kFramesOffset;
  std::byte* const end = out.data() + std::min(out.size(), kPacketBytesMax);
  std::size_t acknowledged_ranges = 0;
  ByteSpan tail;
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const Frame& frame = packet.frames[i];
    const bool is_last = i + 1 == packet.frame_count;
    if (static_cast<std::size_t>(frame.kind) >= kFrameKinds) return Errc::kInvalidArgument;
    if (frame.kind == FrameKind::kAck) acknowledged_ranges += frame.peer_token;
    const std::size_t fixed_bytes = frame_bytes(frame);
    const std::size_t payload_bytes = has_payload(frame.kind) ? frame.length : 0;
    if (payload_bytes > kPayloadBytesMax) return Errc::kBadLength;
    if (payload_bytes > 0 && frame.payload == nullptr) return Errc::kInvalidArgument;
    const bool is_gathered = is_last && has_payload(frame.kind) && payload_bytes >= tail_bytes_min;
    const std::size_t copied_bytes = is_gathered ? 0 : payload_bytes;
    const auto room = static_cast<std::size_t>(end - to);
    if (fixed_bytes > room || copied_bytes > room - fixed_bytes) return Errc::kBadLength;
    const Errc error = write_frame(packet, frame, is_last, to);
    if (error != Errc::kOk) return error;
    to += fixed_bytes;
    if (is_gathered) {
      tail = ByteSpan(frame.payload, payload_bytes);
    } else if (payload_bytes > 0) {
      std::memcpy(to, frame.payload, payload_bytes);
      to += payload_bytes;
    }
  }
  if (acknowledged_ranges > kAckRangesMax) return Errc::kInvalidArgument;
  const auto head_bytes = static_cast<std::size_t>(to - out.data());
  if (tail.size() > kPacketBytesMax - head_bytes) return Errc::kBadLength;
  const Errc error = write_header(packet.header, head_bytes + tail.size(), out.data());
  if (error != Errc::kOk) return error;
  return Encoded{.head_bytes = head_bytes, .tail = tail};
}

}  // namespace zhinu::wire

#include <algorithm>
#include <cstring>

#include "wire/frame_codec.h"

namespace zhinu::wire {
namespace {

std::uint32_t low32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

// Kind, delta and length as the first four bytes of a frame with payload.
std::uint64_t payload_head(const Frame& frame, std::uint8_t delta) {
  return static_cast<std::uint8_t>(frame.kind) | (std::uint64_t{delta} << 8) | (frame.length << 16);
}

// The three frames that carry user data are written as whole words: from separate
// members compilers make separate stores, and these frames are the hot path.
void write_words(const Frame& frame, std::uint8_t delta, std::byte* to) {
  store_le(to, payload_head(frame, delta) | (std::uint64_t{frame.communicator} << 32) |
                   (std::uint64_t{frame.order} << 48));
  store_le(to + 8, frame.tag);
}

Errc write_message(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (frame.digest != 0) return Errc::kInvalidArgument;
  write_words(frame, delta, to);
  return Errc::kOk;
}

// A whole message that is in order: a packet may hold a hundred of them, and each is dealt with
// here. What is wrong with others is found one by one below.
inline bool is_small_message(const Frame& frame, const Header& header) {
  return frame.kind == FrameKind::kMessage && frame.digest == 0 && frame.payload != nullptr &&
         frame.length <= kInlineCopyBytesMax &&
         frame.number - header.message_base <= kMessageDeltaMax;
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
  if (!is_range(frame.offset, frame.length)) return Errc::kInvalidArgument;
  store_le(to, low32(payload_head(frame, delta)));
  store_le(to + 4, frame.offset);
  return Errc::kOk;
}

// A hot frame without its payload.
inline Step write_hot(const Header& header, const Frame& frame, std::byte* to, std::size_t room) {
  const std::uint64_t distance = frame.number - header.message_base;
  if (distance > kMessageDeltaMax) return refused(Errc::kInvalidArgument);
  if (room < kMessageFrameBytes) return refused(Errc::kBadLength);
  const auto delta = static_cast<std::uint8_t>(distance);
  const Errc error = frame.kind == FrameKind::kMessage   ? write_message(frame, delta, to)
                     : frame.kind == FrameKind::kSegment ? write_segment(frame, delta, to)
                                                         : write_message_digest(frame, delta, to);
  return {.bytes = kMessageFrameBytes, .error = error};
}

inline Errc check_payload(const Frame& frame) {
  if (frame.length > kPayloadBytesMax) return Errc::kBadLength;
  return frame.length > 0 && frame.payload == nullptr ? Errc::kInvalidArgument : Errc::kOk;
}

Errc write_header(const Header& header, std::size_t packet_bytes, std::byte* to) {
  if (index_of(header.traffic_class) >= kTrafficClasses) return Errc::kInvalidArgument;
  const auto form = static_cast<std::uint8_t>(kFormData | (header.key_phase ? kFormKeyPhase : 0) |
                                              index_of(header.traffic_class));
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
  const std::uint32_t count = packet.frame_count;
  if (count == 0 || count > kFramesMax) return Errc::kInvalidArgument;
  if (out.size() < kFramesOffset) return Errc::kBadLength;
  std::byte* to = out.data() + kFramesOffset;
  std::byte* const end = out.data() + std::min(out.size(), kPacketBytesMax);
  std::size_t ranges = 0;
  ByteSpan tail;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Frame& frame = packet.frames[i];
    const bool is_last = i + 1 == count;
    const auto room = static_cast<std::size_t>(end - to);
    if (is_small_message(frame, packet.header) && !(is_last && frame.length >= tail_bytes_min)) {
      if (room < kMessageFrameBytes + frame.length) return Errc::kBadLength;
      write_words(frame, static_cast<std::uint8_t>(frame.number - packet.header.message_base), to);
      copy_bytes(to + kMessageFrameBytes, frame.payload, frame.length);
      to += kMessageFrameBytes + frame.length;
      continue;
    }
    const bool with_payload = has_payload(frame.kind);
    if (with_payload) {
      const Errc error = check_payload(frame);
      if (error != Errc::kOk) return error;
    }
    Step step;
    if (is_hot(frame.kind)) {
      step = write_hot(packet.header, frame, to, room);
    } else {
      step = write_frame(packet, frame, is_last, to, room);
      if (frame.kind == FrameKind::kAck) ranges += frame.peer_token;
    }
    if (step.error != Errc::kOk) return step.error;
    to += step.bytes;
    if (!with_payload) continue;
    if (is_last && frame.length >= tail_bytes_min) {
      tail = ByteSpan(frame.payload, frame.length);
    } else {
      if (frame.length > room - step.bytes) return Errc::kBadLength;
      copy_bytes(to, frame.payload, frame.length);
      to += frame.length;
    }
  }
  if (ranges > kAckRangesMax) return Errc::kInvalidArgument;
  const auto head_bytes = static_cast<std::size_t>(to - out.data());
  if (tail.size() > kPacketBytesMax - head_bytes) return Errc::kBadLength;
  const Errc error = write_header(packet.header, head_bytes + tail.size(), out.data());
  if (error != Errc::kOk) return error;
  return Encoded{.head_bytes = head_bytes, .tail = tail};
}

}  // namespace zhinu::wire

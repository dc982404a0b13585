#include "wire/frame_codec.h"

namespace zhinu::wire {
namespace {

// The hot frames. Each is read as words (see frame_layout.h), and is assigned whole,
// so that no member keeps what an earlier packet left there.

inline std::uint8_t delta_of(std::uint64_t word) { return static_cast<std::uint8_t>(word >> 8); }
inline std::uint16_t length_of(std::uint64_t word) {
  return static_cast<std::uint16_t>(word >> 16);
}

inline void read_message(const std::byte* from, const Header& header, Frame& frame) {
  const auto word = load_le<std::uint64_t>(from);
  frame = Frame{.kind = FrameKind::kMessage,
                .order = static_cast<std::uint8_t>(word >> 48),
                .communicator = static_cast<std::uint16_t>(word >> 32),
                .tag = load_le<std::uint32_t>(from + 8),
                .number = number_of(delta_of(word), header),
                .length = length_of(word),
                .payload = from + kMessageFrameBytes};
}

inline void read_message_digest(const std::byte* from, const Header& header, Frame& frame) {
  const auto word = load_le<std::uint64_t>(from);
  const auto rest = load_le<std::uint32_t>(from + 8);
  frame = Frame{.kind = FrameKind::kMessageDigest,
                .order = static_cast<std::uint8_t>(word >> 48),
                .communicator = static_cast<std::uint16_t>(word >> 32),
                .tag = rest >> 16,
                .digest = static_cast<std::uint32_t>(word >> 56) | ((rest & 0xffffU) << 8),
                .number = number_of(delta_of(word), header),
                .length = length_of(word),
                .payload = from + kMessageFrameBytes};
}

inline void read_segment(const std::byte* from, const Header& header, Frame& frame) {
  const auto word = load_le<std::uint32_t>(from);
  frame = Frame{.kind = FrameKind::kSegment,
                .number = number_of(delta_of(word), header),
                .offset = load_le<std::uint64_t>(from + 4),
                .length = length_of(word),
                .payload = from + kSegmentFrameBytes};
}

inline Errc read_hot(const std::byte* from, FrameKind kind, Frame& frame, const Header& header) {
  if (kind == FrameKind::kMessage) {
    if (std::to_integer<std::uint8_t>(from[7]) != 0) return Errc::kBadFrame;
    read_message(from, header, frame);
  } else if (kind == FrameKind::kMessageDigest) {
    read_message_digest(from, header, frame);
  } else {
    read_segment(from, header, frame);
    if (frame.offset % kSegmentUnitBytes != 0) return Errc::kBadFrame;
    if (!is_range(frame.offset, frame.length)) return Errc::kBadFrame;
  }
  return Errc::kOk;
}

inline Step read_any(const std::byte* from, std::size_t left, Frame& frame, Packet& packet) {
  const auto kind = static_cast<FrameKind>(*from);
  if (!is_hot(kind)) {
    const auto index = static_cast<std::size_t>(kind);
    if (index >= kFrameKinds) return refused(Errc::kBadFrame);
    if (left < kFrameBytes[index]) return refused(Errc::kTruncatedPacket);
    return read_frame(from, left, frame, packet);
  }
  if (left < kMessageFrameBytes) return refused(Errc::kTruncatedPacket);
  // From the packet, not from `frame`: where the next frame starts must not wait for stores.
  const std::size_t bytes = kMessageFrameBytes + load_le<std::uint16_t>(from + 2);
  if (bytes > left) return refused(Errc::kBadLength);
  return {.bytes = static_cast<std::uint32_t>(bytes),
          .error = read_hot(from, kind, frame, packet.header)};
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
  const std::byte* at = packet.data() + kFramesOffset;
  const std::byte* const end = packet.data() + packet.size();
  std::uint32_t count = 0;
  for (; at != end; ++count) {
    Step step = refused(Errc::kBadFrame);
    if (count < kFramesMax) {
      step = read_any(at, static_cast<std::size_t>(end - at), out.frames[count], out);
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

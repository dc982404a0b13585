#include <cstring>

#include "wire/frame_codec.h"

namespace zhinu::wire {
namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

std::uint8_t byte_of(FrameKind kind) { return static_cast<std::uint8_t>(kind); }
std::uint8_t byte_of(TrafficClass traffic_class) {
  return static_cast<std::uint8_t>(traffic_class);
}
std::uint32_t low32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::uint16_t code_of(const Frame& frame) { return static_cast<std::uint16_t>(frame.code); }

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
  return !is_range(frame.offset, frame.length) || (frame.flags & ~kFlagsKnown) != 0;
}

Errc write_put(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (is_bad_access(frame)) return Errc::kInvalidArgument;
  store_le(to, PutLayout{.kind = byte_of(frame.kind),
                         .delta = delta,
                         .length = static_cast<std::uint16_t>(frame.length),
                         .communicator = frame.communicator,
                         .flags = frame.flags,
                         .immediate = frame.tag,
                         .behind = frame.digest,
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
                           .behind = frame.digest,
                           .region_key = frame.region_key,
                           .offset = frame.offset,
                           .length = frame.length,
                           .flags = frame.flags});
  return Errc::kOk;
}

Errc write_read(const Frame& frame, std::uint8_t delta, std::byte* to) {
  if (!is_range(frame.offset, frame.length)) return Errc::kInvalidArgument;
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
                                  .code = static_cast<std::uint16_t>(frame.code),
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
                            .receives = frame.offset});
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

Errc write_kind(const Packet& packet, const Frame& frame, bool is_last, std::byte* to) {
  const auto delta = static_cast<std::uint8_t>(frame.number - packet.header.message_base);
  switch (frame.kind) {
    case FrameKind::kPadding: return write_padding(frame, is_last, to);
    case FrameKind::kAck: return write_ack(packet, frame, to);
    case FrameKind::kMessage:
    case FrameKind::kMessageDigest:
    case FrameKind::kSegment: break;  // hot, and not for this function
    case FrameKind::kAnnounce: return write_announce(frame, delta, to);
    case FrameKind::kPut: return write_put(frame, delta, to);
    case FrameKind::kWrite: return write_write(frame, delta, to);
    case FrameKind::kRead: return write_read(frame, delta, to);
    case FrameKind::kReadData: return write_read_data(frame, delta, to);
    case FrameKind::kReadAnnounce: return write_read_announce(frame, delta, to);
    case FrameKind::kGrant: return write_grant(frame, to);
    case FrameKind::kCredit: return write_credit(frame, to);
    case FrameKind::kCreditProbe: return write_credit_probe(frame, to);
    case FrameKind::kRefuse: return write_refuse(frame, to);
    case FrameKind::kCancel: return write_cancel(frame, to);
    case FrameKind::kAbort: return write_abort(frame, to);
    case FrameKind::kClose: return write_close(frame, to);
    case FrameKind::kPathProbe:
    case FrameKind::kPathResponse: return write_path_challenge(frame, to);
  }
  return Errc::kInvalidArgument;
}

}  // namespace

Step write_frame(const Packet& packet, const Frame& frame, bool is_last, std::byte* to,
                 std::size_t room) {
  if (static_cast<std::size_t>(frame.kind) >= kFrameKinds) return refused(Errc::kInvalidArgument);
  if (is_numbered(frame.kind) && frame.number - packet.header.message_base > kMessageDeltaMax) {
    return refused(Errc::kInvalidArgument);
  }
  const std::size_t bytes = frame_bytes(frame);
  if (bytes > room) return refused(Errc::kBadLength);
  return {.bytes = static_cast<std::uint32_t>(bytes),
          .error = write_kind(packet, frame, is_last, to)};
}

}  // namespace zhinu::wire

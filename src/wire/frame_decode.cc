#include <cstring>

#include "wire/frame_codec.h"

namespace zhinu::wire {
namespace {

// The bytes from the start of one frame to the end of its packet. Whoever reads a
// layout has compared `left` with its size before.
struct Input {
  const std::byte* at;
  std::size_t left;
  const Header& header;

  FrameKind kind() const { return static_cast<FrameKind>(*at); }
  template <class Layout>
  Layout read() const {
    return load_le<Layout>(at);
  }
  template <class Layout>
  const std::byte* payload() const {
    return at + sizeof(Layout);
  }
  // The end of a frame with a payload of `payload_bytes`, if the packet holds it.
  template <class Layout>
  Step done(std::size_t payload_bytes = 0) const {
    if (payload_bytes > left - sizeof(Layout)) return refused(Errc::kBadLength);
    return {.bytes = static_cast<std::uint32_t>(sizeof(Layout) + payload_bytes),
            .error = Errc::kOk};
  }
};

bool is_class(std::uint8_t byte) { return byte < kTrafficClasses; }

Step read_announce(Input input, Frame& frame) {
  const auto from = input.read<AnnounceLayout>();
  frame = Frame{.kind = FrameKind::kAnnounce,
                .order = from.order,
                .communicator = from.communicator,
                .tag = from.tag,
                .digest = from.digest_low | (std::uint32_t{from.digest_high} << 8),
                .number = number_of(from.delta, input.header),
                .token = from.token,
                .length = from.length};
  return input.done<AnnounceLayout>();
}

Step read_put(Input input, Frame& frame) {
  const auto from = input.read<PutLayout>();
  if ((from.flags & ~kFlagsKnown) != 0) return refused(Errc::kBadFrame);
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kPut,
                .flags = static_cast<std::uint8_t>(from.flags),
                .communicator = from.communicator,
                .tag = from.immediate,
                .digest = from.behind,
                .number = number_of(from.delta, input.header),
                .offset = from.offset,
                .length = from.length,
                .payload = input.payload<PutLayout>(),
                .region_key = from.region_key};
  return input.done<PutLayout>(from.length);
}

Step read_write(Input input, Frame& frame) {
  const auto from = input.read<WriteLayout>();
  if ((from.flags & ~std::uint32_t{kFlagsKnown}) != 0) return refused(Errc::kBadFrame);
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kWrite,
                .flags = static_cast<std::uint8_t>(from.flags),
                .communicator = from.communicator,
                .tag = from.immediate,
                .digest = from.behind,
                .number = number_of(from.delta, input.header),
                .token = from.token,
                .offset = from.offset,
                .length = from.length,
                .region_key = from.region_key};
  return input.done<WriteLayout>();
}

Step read_read(Input input, Frame& frame) {
  const auto from = input.read<ReadLayout>();
  if (!is_range(from.offset, from.length)) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kRead,
                .communicator = from.communicator,
                .number = number_of(from.delta, input.header),
                .token = from.token,
                .offset = from.offset,
                .length = from.length,
                .region_key = from.region_key};
  return input.done<ReadLayout>();
}

Step read_read_data(Input input, Frame& frame) {
  const auto from = input.read<ReadDataLayout>();
  frame = Frame{.kind = FrameKind::kReadData,
                .number = number_of(from.delta, input.header),
                .token = from.token,
                .offset = from.read_number,
                .length = from.length,
                .payload = input.payload<ReadDataLayout>()};
  return input.done<ReadDataLayout>(from.length);
}

Step read_read_announce(Input input, Frame& frame) {
  const auto from = input.read<ReadAnnounceLayout>();
  frame = Frame{.kind = FrameKind::kReadAnnounce,
                .code = static_cast<Errc>(from.code),
                .number = number_of(from.delta, input.header),
                .token = from.token,
                .peer_token = from.peer_token,
                .offset = from.read_number,
                .length = from.length};
  return input.done<ReadAnnounceLayout>();
}

Step read_grant(Input input, Frame& frame) {
  const auto from = input.read<GrantLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kGrant,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .number = from.number,
                .token = from.token,
                .offset = from.offset};
  return input.done<GrantLayout>();
}

Step read_credit(Input input, Frame& frame) {
  const auto from = input.read<CreditLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kCredit,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .communicator = from.communicator,
                .offset = from.receives};
  return input.done<CreditLayout>();
}

Step read_credit_probe(Input input, Frame& frame) {
  const auto from = input.read<CreditProbeLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  frame = Frame{.kind = FrameKind::kCreditProbe,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .communicator = from.communicator};
  return input.done<CreditProbeLayout>();
}

// A code of zero would be a failure without a reason, which Result cannot hold.
Step read_refuse(Input input, Frame& frame) {
  const auto from = input.read<RefuseLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kRefuse,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .code = static_cast<Errc>(from.code),
                .number = from.number,
                .token = from.token};
  return input.done<RefuseLayout>();
}

Step read_cancel(Input input, Frame& frame) {
  const auto from = input.read<CancelLayout>();
  if (!is_class(from.traffic_class)) return refused(Errc::kBadClass);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kCancel,
                .traffic_class = static_cast<TrafficClass>(from.traffic_class),
                .code = static_cast<Errc>(from.code),
                .number = from.number};
  return input.done<CancelLayout>();
}

Step read_abort(Input input, Frame& frame) {
  const auto from = input.read<AbortLayout>();
  if (from.zero != 0 || from.zero2 != 0) return refused(Errc::kBadFrame);
  if (from.code == 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kAbort,
                .communicator = from.communicator,
                .code = static_cast<Errc>(from.code),
                .tag = from.rank,
                .digest = from.digest,
                .number = from.other_digest,
                .token = from.other_rank};
  return input.done<AbortLayout>();
}

Step read_close(Input input, Frame& frame) {
  const auto from = input.read<CloseLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kClose, .code = static_cast<Errc>(from.code)};
  return input.done<CloseLayout>();
}

Step read_path_challenge(Input input, Frame& frame) {
  const auto from = input.read<PathChallengeLayout>();
  if (from.zero != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = input.kind(), .flags = from.path, .offset = from.challenge};
  return input.done<PathChallengeLayout>();
}

Step read_padding(Input input, Frame& frame) {
  // All bytes are zero if the first one is and each equals its neighbour.
  if (std::memcmp(input.at, input.at + 1, input.left - 1) != 0) return refused(Errc::kBadFrame);
  frame = Frame{.kind = FrameKind::kPadding, .length = input.left};
  return {.bytes = static_cast<std::uint32_t>(input.left), .error = Errc::kOk};
}

}  // namespace

Step read_frame(const std::byte* from, std::size_t left, Frame& frame, Packet& packet) {
  const Input input{.at = from, .left = left, .header = packet.header};
  switch (input.kind()) {
    case FrameKind::kMessage:
    case FrameKind::kMessageDigest:
    case FrameKind::kSegment: break;  // hot, and not for this function
    case FrameKind::kPadding: return read_padding(input, frame);
    case FrameKind::kAck: return read_ack(from, left, frame, packet);
    case FrameKind::kAnnounce: return read_announce(input, frame);
    case FrameKind::kPut: return read_put(input, frame);
    case FrameKind::kWrite: return read_write(input, frame);
    case FrameKind::kRead: return read_read(input, frame);
    case FrameKind::kReadData: return read_read_data(input, frame);
    case FrameKind::kReadAnnounce: return read_read_announce(input, frame);
    case FrameKind::kGrant: return read_grant(input, frame);
    case FrameKind::kCredit: return read_credit(input, frame);
    case FrameKind::kCreditProbe: return read_credit_probe(input, frame);
    case FrameKind::kRefuse: return read_refuse(input, frame);
    case FrameKind::kCancel: return read_cancel(input, frame);
    case FrameKind::kAbort: return read_abort(input, frame);
    case FrameKind::kClose: return read_close(input, frame);
    case FrameKind::kPathProbe:
    case FrameKind::kPathResponse: return read_path_challenge(input, frame);
  }
  return refused(Errc::kBadFrame);
}

}  // namespace zhinu::wire

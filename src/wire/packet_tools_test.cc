#include "wire/packet_tools_test.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "wire/samples_test.h"

namespace zhinu::wire::test {
namespace {

// Random payloads are pieces of this; every position differs from its neighbours.
const std::vector<std::byte>& payload_pool() {
  static const std::vector<std::byte> pool = [] {
    std::vector<std::byte> bytes(4096);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 167 + 1);
    return bytes;
  }();
  return pool;
}

std::uint64_t cut(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

// A number with any count of significant bits, so that borders are not rare.
std::uint64_t random_number(Prng& prng) { return prng.next() >> prng.below(64); }

void add_random_ack(Prng& prng, Packet& packet, Frame& frame) {
  const std::size_t room = std::min(kAckRangesPerFrameMax, kAckRangesMax - packet.ack_range_count);
  frame.token = packet.ack_range_count;
  frame.number = random_number(prng);
  frame.peer_token = 0;
  std::uint64_t last = frame.number;
  const std::uint64_t count = 1 + prng.below(room);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t first = last - std::min(last, prng.below(1 << 20));
    packet.ack_ranges[packet.ack_range_count++] = {.first = first, .last = last};
    ++frame.peer_token;
    const std::uint64_t distance = 2 + prng.below(1 << 20);
    if (distance > first) break;
    last = first - distance;
  }
}

// Values for the members that its kind puts on the wire; the others stay zero.
void fill_random(Prng& prng, Packet& packet, Frame& frame) {
  const Sample& sample = sample_of(frame.kind);
  const Frame& like = sample.frame;
  const auto if_used = [&prng](auto& member, auto example, std::uint64_t max) {
    if (example != decltype(example){}) {
      member = static_cast<std::remove_reference_t<decltype(member)>>(
          prng.below(2) == 0 ? random_number(prng) & max : prng.next() & max);
    }
  };
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const bool digest_kind = frame.kind == FrameKind::kMessageDigest;
  const bool small_digest = digest_kind || frame.kind == FrameKind::kAnnounce;
  if_used(frame.order, like.order, kAll);
  if_used(frame.communicator, like.communicator, kAll);
  if_used(frame.tag, like.tag, digest_kind ? kDigestTagMax : kAll);
  if_used(frame.digest, like.digest, small_digest ? kDigestMax : kAll);
  if_used(frame.token, like.token, kAll);
  if_used(frame.peer_token, like.peer_token, kAll);
  if_used(frame.offset, like.offset, kAll >> 1);
  if_used(frame.length, like.length, kAll >> 1);
  if_used(frame.region_key, like.region_key, kAll);
  if_used(frame.flags, like.flags, kAll);
  if (frame.kind == FrameKind::kPut || frame.kind == FrameKind::kWrite) frame.flags &= kFlagsKnown;
  if (frame.kind == FrameKind::kSegment) frame.offset -= frame.offset % kSegmentUnitBytes;
  if (like.code != Errc::kOk) frame.code = static_cast<Errc>(1 + prng.below(0xffff));
  if (like.traffic_class != TrafficClass::kControl) {
    frame.traffic_class = static_cast<TrafficClass>(prng.below(kTrafficClasses));
  }
  frame.number = like.number >= kSampleBase ? packet.header.message_base + prng.below(256)
                                            : (like.number == 0 ? 0 : prng.next() >> 32);
  if (has_payload(frame.kind)) {
    frame.length = prng.below(8) == 0 ? prng.below(400) : prng.below(40);
    frame.payload = payload_pool().data() + prng.below(1024);
  }
  if (frame.kind == FrameKind::kAck) add_random_ack(prng, packet, frame);
}

// True if both frames have the same payload.
bool same_payload(const Frame& left, const Frame& right) {
  if (!has_payload(left.kind) || left.length == 0) return true;
  return std::memcmp(left.payload, right.payload, left.length) == 0;
}

std::string difference(const Frame& left, const Frame& right) {
  if (left.kind != right.kind) return "kind";
  if (left.traffic_class != right.traffic_class) return "traffic_class";
  if (left.order != right.order) return "order";
  if (left.flags != right.flags) return "flags";
  if (left.communicator != right.communicator) return "communicator";
  if (left.code != right.code) return "code";
  if (left.tag != right.tag) return "tag";
  if (left.digest != right.digest) return "digest";
  if (left.number != right.number) return "number";
  if (left.token != right.token) return "token";
  if (left.peer_token != right.peer_token) return "peer_token";
  if (left.offset != right.offset) return "offset";
  if (left.length != right.length) return "length";
  if (left.region_key != right.region_key) return "region_key";
  return same_payload(left, right) ? "" : "payload";
}

}  // namespace

Packet random_packet(Prng& prng, std::size_t frames_max) {
  Packet packet;
  packet.header = Header{.traffic_class = static_cast<TrafficClass>(prng.below(kTrafficClasses)),
                         .key_phase = prng.chance(500'000),
                         .path = static_cast<std::uint8_t>(prng.next()),
                         .connection = prng.next(),
                         .number = random_number(prng),
                         .message_base = random_number(prng) >> 1};
  const std::uint64_t count = prng.between(1, frames_max);
  while (packet.frame_count < count) {
    const auto kind = static_cast<FrameKind>(prng.between(1, kFrameKinds - 1));
    if (kind == FrameKind::kAck && packet.ack_range_count == kAckRangesMax) continue;
    fill_random(prng, packet, packet.add(kind));
  }
  if (packet.has_room() && prng.chance(250'000)) {
    packet.add(FrameKind::kPadding).length = 1 + prng.below(64);
  }
  return packet;
}

Packet as_decoded(const Packet& packet) {
  Packet result = packet;
  result.header.number = cut(packet.header.number);
  result.header.message_base = cut(packet.header.message_base);
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    Frame& frame = result.frames[i];
    if (frame.kind == FrameKind::kAck) {
      for (std::uint32_t k = frame.token; k < frame.token + frame.peer_token; ++k) {
        const std::uint64_t base = (std::uint64_t{1} << 32) + cut(frame.number);
        result.ack_ranges[k].first = base - (frame.number - packet.ack_ranges[k].first);
        result.ack_ranges[k].last = base - (frame.number - packet.ack_ranges[k].last);
      }
    }
    frame.number = cut(frame.number);
    if (frame.kind == FrameKind::kReadData || frame.kind == FrameKind::kReadAnnounce) {
      frame.offset = cut(frame.offset);
    }
  }
  return result;
}

std::string difference(const Packet& left, const Packet& right) {
  const Header& a = left.header;
  const Header& b = right.header;
  if (a.traffic_class != b.traffic_class) return "header: traffic_class";
  if (a.key_phase != b.key_phase) return "header: key_phase";
  if (a.path != b.path) return "header: path";
  if (a.connection != b.connection) return "header: connection";
  if (a.number != b.number) return "header: number";
  if (a.message_base != b.message_base) return "header: message_base";
  if (left.frame_count != right.frame_count) return "frame_count";
  for (std::uint32_t i = 0; i < left.frame_count; ++i) {
    const std::string what = difference(left.frames[i], right.frames[i]);
    if (!what.empty()) return "frame " + std::to_string(i) + ": " + what;
  }
  if (left.ack_range_count != right.ack_range_count) return "ack_range_count";
  for (std::uint32_t i = 0; i < left.ack_range_count; ++i) {
    const AckRange& range = left.ack_ranges[i];
    if (range.first != right.ack_ranges[i].first || range.last != right.ack_ranges[i].last) {
      return "ack range " + std::to_string(i);
    }
  }
  return "";
}

std::vector<std::byte> encoded(const Packet& packet) {
  std::vector<std::byte> out(kPacketBytesMax);
  const auto result = encode(packet, out, std::numeric_limits<std::size_t>::max());
  out.resize(result.value().head_bytes);
  return out;
}

Errc encode_error(const Packet& packet) {
  std::vector<std::byte> out(kPacketBytesMax);
  return encode(packet, out, std::numeric_limits<std::size_t>::max()).error();
}

Errc decode(ByteSpan bytes, Packet& out) {
  std::size_t packet_bytes = 0;
  const Status header = decode_header(bytes, out.header, packet_bytes);
  if (!header.ok()) return header.error();
  return decode_frames(bytes.first(packet_bytes), out).error();
}

}  // namespace zhinu::wire::test

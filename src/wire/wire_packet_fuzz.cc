// Any bytes as a data packet: refused with a reason, or accepted, and then encoding
// what was decoded gives the same bytes, copied or gathered. So no bit is ignored, and
// nothing is accepted that the encoder would not write.
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/codec.h"
#include "wire/packet_tools_test.h"

namespace zhinu::wire {
namespace {

void expect_refused_whole(const Packet& packet) {
  ZHINU_ASSERT(packet.frame_count == 0);
  ZHINU_ASSERT(packet.ack_range_count == 0);
}

// Every byte of a payload must lie in the packet; the sanitizer watches the reads.
std::uint64_t sum_of_payloads(const Packet& packet) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const Frame& frame = packet.frames[i];
    if (!has_payload(frame.kind)) continue;
    for (const std::byte byte : std::span(frame.payload, frame.length)) {
      sum += std::to_integer<std::uint64_t>(byte);
    }
  }
  return sum;
}

// The ranges of an ACK for whatever packet number the receiver expects.
void expect_ranges_to_rebase(Packet packet) {
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const Frame& frame = packet.frames[i];
    if (frame.kind != FrameKind::kAck) continue;
    const auto ranges = std::span(packet.ack_ranges).subspan(frame.token, frame.peer_token);
    const std::uint64_t largest =
        expand_number(static_cast<std::uint32_t>(frame.number), packet.header.connection);
    if (!rebase_ack_ranges(ranges, largest).ok()) continue;
    ZHINU_ASSERT(ranges.front().last == largest);
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      ZHINU_ASSERT(ranges[k].first <= ranges[k].last);
      if (k > 0) ZHINU_ASSERT(ranges[k].last + 1 < ranges[k - 1].first);
    }
  }
}

void expect_same_bytes(const Packet& packet, ByteSpan bytes, std::size_t tail_bytes_min) {
  std::vector<std::byte> out(bytes.size());
  const auto result = encode(packet, out, tail_bytes_min);
  ZHINU_ASSERT(result.ok());
  out.resize(result.value().head_bytes);
  const ByteSpan tail = result.value().tail;
  out.insert(out.end(), tail.begin(), tail.end());
  ZHINU_ASSERT(out.size() == bytes.size());
  std::memcpy(out.data() + kTagOffset, bytes.data() + kTagOffset, kTagBytes);
  ZHINU_ASSERT(std::memcmp(out.data(), bytes.data(), bytes.size()) == 0);
}

void run(ByteSpan datagram) {
  static_cast<void>(is_handshake(datagram));
  Packet packet;
  std::size_t packet_bytes = 0;
  if (!decode_header(datagram, packet.header, packet_bytes).ok()) return;
  ZHINU_ASSERT(packet_bytes <= datagram.size());
  const ByteSpan bytes = datagram.first(packet_bytes);
  if (!decode_frames(bytes, packet).ok()) return expect_refused_whole(packet);
  expect_ranges_to_rebase(packet);
  ZHINU_ASSERT(sum_of_payloads(packet) <= 255 * packet_bytes);
  test::expand_packet(packet);
  expect_same_bytes(packet, bytes, std::numeric_limits<std::size_t>::max());
  expect_same_bytes(packet, bytes, 1);
}

}  // namespace
}  // namespace zhinu::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zhinu::wire::run(std::as_bytes(std::span(data, size)));
  return 0;
}

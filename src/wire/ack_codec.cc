#include "wire/frame_codec.h"

namespace zhinu::wire {
namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

std::uint32_t low32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

// The ranges that an ACK frame names, or none if they are not in the packet.
std::span<const AckRange> ranges_of(const Packet& packet, const Frame& frame) {
  const std::size_t count = frame.peer_token;
  if (packet.ack_range_count > kAckRangesMax || count > kAckRangesPerFrameMax) return {};
  if (frame.token > packet.ack_range_count || count > packet.ack_range_count - frame.token) {
    return {};
  }
  return std::span(packet.ack_ranges).subspan(frame.token, count);
}

// Takes `distance` numbers off `*number`. False if it would leave the 32 bits below
// the largest one: more than the peer can mean, and the way to wrap below zero.
bool descend(std::uint64_t& number, std::uint64_t distance, std::uint64_t lowest) {
  if (distance > number - lowest) return false;
  number -= distance;
  return true;
}

}  // namespace

Errc write_ack(const Packet& packet, const Frame& frame, std::byte* to) {
  const auto ranges = ranges_of(packet, frame);
  if (ranges.empty() || ranges.front().last != frame.number) return Errc::kInvalidArgument;
  // After this check, and the order of the ranges checked below, every distance fits 32 bits.
  if (ranges.back().first > frame.number || frame.number - ranges.back().first > kMax32) {
    return Errc::kInvalidArgument;
  }
  if (ranges.front().first > ranges.front().last) return Errc::kInvalidArgument;
  store_le(to, AckLayout{.kind = static_cast<std::uint8_t>(FrameKind::kAck),
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

Step read_ack(const std::byte* from, std::size_t left, Frame& frame, Packet& packet) {
  const auto ack = load_le<AckLayout>(from);
  if (ack.zero != 0) return refused(Errc::kBadFrame);
  if (ack.range_count == 0 || ack.range_count > kAckRangesPerFrameMax ||
      ack.range_count > kAckRangesMax - packet.ack_range_count) {
    return refused(Errc::kBadFrame);
  }
  const std::size_t bytes = sizeof(AckLayout) + (ack.range_count - 1U) * sizeof(AckRangeLayout);
  if (bytes > left) return refused(Errc::kTruncatedPacket);
  AckRange* const ranges = &packet.ack_ranges[packet.ack_range_count];
  const std::uint64_t last = (std::uint64_t{1} << 32) + ack.largest;
  const std::uint64_t lowest = std::uint64_t{ack.largest} + 1;
  std::uint64_t number = last;
  if (!descend(number, ack.first_range_minus_1, lowest)) return refused(Errc::kBadFrame);
  ranges[0] = {.first = number, .last = last};
  from += sizeof(AckLayout);
  for (std::size_t i = 1; i < ack.range_count; ++i, from += sizeof(AckRangeLayout)) {
    const auto next = load_le<AckRangeLayout>(from);
    if (!descend(number, std::uint64_t{next.gap_minus_1} + 2, lowest)) {
      return refused(Errc::kBadFrame);
    }
    ranges[i].last = number;
    if (!descend(number, next.range_minus_1, lowest)) return refused(Errc::kBadFrame);
    ranges[i].first = number;
  }
  frame = Frame{.kind = FrameKind::kAck,
                .flags = ack.path,
                .tag = ack.delay_us,
                .digest = ack.marked_packets,
                .number = ack.largest,
                .token = packet.ack_range_count,
                .peer_token = ack.range_count};
  packet.ack_range_count += ack.range_count;
  return {.bytes = static_cast<std::uint32_t>(bytes), .error = Errc::kOk};
}

Status rebase_ack_ranges(std::span<AckRange> ranges, std::uint64_t largest) {
  if (ranges.empty()) return {};
  const std::uint64_t base = ranges.front().last;
  ZHINU_ASSERT(static_cast<std::uint32_t>(base) == static_cast<std::uint32_t>(largest));
  ZHINU_ASSERT(ranges.back().first <= base);
  if (base - ranges.back().first > largest) return Errc::kBadAck;
  // Unsigned, so a base above `largest` wraps to the same sums.
  const std::uint64_t shift = largest - base;
  for (AckRange& range : ranges) {
    range.first += shift;
    range.last += shift;
  }
  return {};
}

}  // namespace zhinu::wire

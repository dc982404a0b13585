#include "wire/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{1} << 32;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Tries every number of 64 bits that fits: the nearest one wins, of two the larger.
std::uint64_t expand_slowly(std::uint32_t truncated, std::uint64_t expected) {
  const std::uint64_t middle = expected / kWindow;
  std::uint64_t best = 0;
  std::uint64_t best_distance = kMax;
  for (std::uint64_t high = middle == 0 ? 0 : middle - 1; high <= middle + 1; ++high) {
    if (high > kMax / kWindow) break;
    const std::uint64_t candidate = high * kWindow + truncated;
    const std::uint64_t distance =
        candidate > expected ? candidate - expected : expected - candidate;
    if (distance <= best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

TEST(ExpandNumber, expand_number__same_window) {
  EXPECT_EQ(expand_number(0, 0), 0U);
  EXPECT_EQ(expand_number(7, 5), 7U);
  EXPECT_EQ(expand_number(5, 7), 5U);
  EXPECT_EQ(expand_number(0x1234'5678, 0x9'1234'0000), 0x9'1234'5678U);
}

TEST(ExpandNumber, expand_number__ahead_over_a_wrap) {
  EXPECT_EQ(expand_number(2, 0xffff'fffe), 0x1'0000'0002U);
  EXPECT_EQ(expand_number(0, 0x4'ffff'ffff), 0x5'0000'0000U);
}

TEST(ExpandNumber, expand_number__behind_a_wrap) {
  EXPECT_EQ(expand_number(0xffff'fffe, 0x1'0000'0002), 0xffff'fffeU);
  EXPECT_EQ(expand_number(0xffff'ffff, 0x5'0000'0000), 0x4'ffff'ffffU);
}

TEST(ExpandNumber, expand_number__half_a_window_away_takes_the_larger) {
  EXPECT_EQ(expand_number(0x8000'0000, 0x1'0000'0000), 0x1'8000'0000U);
  EXPECT_EQ(expand_number(0x8000'0001, 0x1'0000'0000), 0x8000'0001U);
  EXPECT_EQ(expand_number(0, 0x1'8000'0000), 0x2'0000'0000U);
  EXPECT_EQ(expand_number(0, 0x1'7fff'ffff), 0x1'0000'0000U);
}

TEST(ExpandNumber, expand_number__never_below_zero) {
  EXPECT_EQ(expand_number(0xffff'ffff, 0), 0xffff'ffffU);
  EXPECT_EQ(expand_number(0x8000'0001, 0), 0x8000'0001U);
}

TEST(ExpandNumber, expand_number__never_above_64_bits) {
  EXPECT_EQ(expand_number(0, kMax), kMax - 0xffff'ffffU);
  EXPECT_EQ(expand_number(0xffff'ffff, kMax), kMax);
}

TEST(ExpandNumber, expand_number__equals_a_slow_search_around_wraps) {
  const std::uint32_t offsets[] = {0,           1,           2,           0x7fff'fffe,
                                   0x7fff'ffff, 0x8000'0000, 0x8000'0001, 0x8000'0002,
                                   0xffff'fffd, 0xffff'fffe, 0xffff'ffff};
  const std::uint64_t windows[] = {0, 1, 2, 0x7fff'ffff, 0xffff'fffe, 0xffff'ffff};
  for (const std::uint64_t window : windows) {
    for (const std::uint32_t low : offsets) {
      const std::uint64_t expected = window * kWindow + low;
      for (const std::uint32_t truncated : offsets) {
        ASSERT_EQ(expand_number(truncated, expected), expand_slowly(truncated, expected))
            << "truncated " << truncated << ", expected " << expected;
      }
    }
  }
}

TEST(IsHandshake, is_handshake__by_the_two_highest_bits_of_the_first_byte) {
  for (unsigned form = 0; form < 256; ++form) {
    const std::byte bytes[] = {static_cast<std::byte>(form), std::byte{0}};
    EXPECT_EQ(is_handshake(bytes), form >= 0x40 && form < 0x80) << form;
  }
}

TEST(IsHandshake, is_handshake__empty_datagram) { EXPECT_FALSE(is_handshake({})); }

TEST(IsHandshake, is_handshake__first_byte_alone_is_enough) {
  const std::byte bytes[] = {std::byte{0x41}};
  EXPECT_TRUE(is_handshake(bytes));
}

TEST(FrameBytes, frame_bytes__equals_what_is_encoded) {
  for (const test::Sample& sample : test::samples()) {
    const Packet packet = test::packet_of({sample});
    const Frame& frame = packet.frames[0];
    const std::size_t payload_bytes = has_payload(frame.kind) ? frame.length : 0;
    EXPECT_EQ(test::encoded(packet).size(), kFramesOffset + frame_bytes(frame) + payload_bytes)
        << sample.name;
  }
}

TEST(FrameBytes, frame_bytes__ack_grows_with_its_ranges) {
  Frame frame;
  frame.kind = FrameKind::kAck;
  frame.peer_token = 1;
  EXPECT_EQ(frame_bytes(frame), 20U);
  frame.peer_token = 2;
  EXPECT_EQ(frame_bytes(frame), 28U);
  frame.peer_token = kAckRangesPerFrameMax;
  EXPECT_EQ(frame_bytes(frame), 268U);
}

TEST(FrameBytes, frame_bytes__padding_is_its_length) {
  Frame frame;
  frame.length = 77;
  EXPECT_EQ(frame_bytes(frame), 77U);
}

TEST(FrameBytesDeathTest, frame_bytes__unknown_kind) {
  Frame frame;
  frame.kind = static_cast<FrameKind>(kFrameKinds);
  EXPECT_DEATH(static_cast<void>(frame_bytes(frame)), "kind < kFrameKinds");
}

TEST(HasPayload, has_payload__five_kinds) {
  std::size_t count = 0;
  for (std::size_t kind = 0; kind < 256; ++kind) {
    if (has_payload(static_cast<FrameKind>(kind))) ++count;
  }
  EXPECT_EQ(count, 5U);
  EXPECT_TRUE(has_payload(FrameKind::kMessage));
  EXPECT_TRUE(has_payload(FrameKind::kMessageDigest));
  EXPECT_TRUE(has_payload(FrameKind::kSegment));
  EXPECT_TRUE(has_payload(FrameKind::kPut));
  EXPECT_TRUE(has_payload(FrameKind::kReadData));
}

Packet packet_of_messages(FrameKind kind, std::size_t count, ByteSpan payload) {
  Packet packet;
  for (std::size_t i = 0; i < count; ++i) {
    Frame& frame = packet.add(kind);
    frame.number = i;
    frame.length = payload.size();
    frame.payload = payload.data();
  }
  return packet;
}

// The promise that callers size their batches by: 52 bytes before the payload of one
// message, 12 for each further one.
TEST(Overhead, small_messages_cost_at_most_52_bytes_and_12_for_each_further_one) {
  const std::vector<std::byte> payload(8, std::byte{0x5a});
  for (const FrameKind kind : {FrameKind::kMessage, FrameKind::kMessageDigest}) {
    for (std::size_t count = 1; count <= kFramesMax; ++count) {
      const std::size_t bytes = test::encoded(packet_of_messages(kind, count, payload)).size();
      EXPECT_LE(bytes, 52 + 12 * (count - 1) + payload.size() * count);
    }
  }
}

TEST(Overhead, one_segment_costs_at_most_52_bytes) {
  const std::vector<std::byte> payload(8192, std::byte{0x5a});
  const Packet packet = packet_of_messages(FrameKind::kSegment, 1, payload);
  EXPECT_LE(test::encoded(packet).size(), 52 + payload.size());
}

}  // namespace
}  // namespace zhinu::wire

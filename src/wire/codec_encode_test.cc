#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::encode_error;
using test::from_hex;
using test::packet_of;
using test::sample_of;
using test::to_hex;

constexpr std::size_t kCopyAll = std::numeric_limits<std::size_t>::max();
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

// A packet of one sample whose frame the case then bends.
Packet packet_of(FrameKind kind) { return packet_of({sample_of(kind)}); }

TEST(Encode, encode__every_kind_gives_the_documented_bytes) {
  for (const test::Sample& sample : test::samples()) {
    const std::string frame = without_spaces(sample.bytes);
    EXPECT_EQ(to_hex(test::encoded(packet_of({sample}))),
              test::sample_header_bytes(kFramesOffset + frame.size() / 2) + frame)
        << sample.name;
  }
}

TEST(Encode, encode__frames_follow_each_other_without_gaps) {
  const std::vector<test::Sample> all = test::samples();
  std::string frames;
  for (const test::Sample& sample : all) frames += without_spaces(sample.bytes);
  EXPECT_EQ(to_hex(test::encoded(packet_of(all))),
            test::sample_header_bytes(kFramesOffset + frames.size() / 2) + frames);
}

TEST(Encode, encode__header_of_each_class_and_phase) {
  Packet packet = packet_of(FrameKind::kClose);
  for (std::size_t index = 0; index < kTrafficClasses; ++index) {
    packet.header.traffic_class = static_cast<TrafficClass>(index);
    packet.header.key_phase = false;
    EXPECT_EQ(test::encoded(packet)[0], static_cast<std::byte>(0x80 + index));
    packet.header.key_phase = true;
    EXPECT_EQ(test::encoded(packet)[0], static_cast<std::byte>(0xc0 + index));
  }
}

TEST(Encode, encode__unknown_class) {
  Packet packet = packet_of(FrameKind::kClose);
  packet.header.traffic_class = static_cast<TrafficClass>(kTrafficClasses);
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__tag_is_zeroed_in_a_used_buffer) {
  std::vector<std::byte> out(100, std::byte{0xff});
  ASSERT_TRUE(encode(packet_of(FrameKind::kClose), out, kCopyAll).ok());
  EXPECT_EQ(to_hex(ByteSpan(out).subspan(kTagOffset, kTagBytes)), std::string(32, '0'));
  EXPECT_EQ(out[40], std::byte{0xff}) << "bytes behind the packet are not touched";
}

TEST(Encode, encode__no_frame) { EXPECT_EQ(encode_error(Packet{}), Errc::kInvalidArgument); }

TEST(Encode, encode__128_frames) {
  Packet packet = packet_of(std::vector<test::Sample>(kFramesMax, sample_of(FrameKind::kClose)));
  EXPECT_EQ(test::encoded(packet).size(), kFramesOffset + 4 * kFramesMax);
  packet.frame_count = kFramesMax + 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__unknown_kind) {
  for (std::size_t kind = kFrameKinds; kind < 256; ++kind) {
    Packet packet = packet_of(FrameKind::kClose);
    packet.frames[0].kind = static_cast<FrameKind>(kind);
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << kind;
  }
}

TEST(Encode, encode__every_buffer_that_is_too_small) {
  for (const test::Sample& sample : test::samples()) {
    const Packet packet = packet_of({sample});
    const std::size_t bytes = test::encoded(packet).size();
    std::vector<std::byte> out(bytes);
    EXPECT_TRUE(encode(packet, out, kCopyAll).ok()) << sample.name;
    for (std::size_t size = 0; size < bytes; ++size) {
      EXPECT_EQ(encode(packet, MutableByteSpan(out).first(size), kCopyAll).error(),
                Errc::kBadLength)
          << sample.name << " in " << size << " bytes";
    }
  }
}

TEST(Encode, encode__delta_0_and_255_but_not_256) {
  for (const test::Sample& sample : test::samples()) {
    const FrameKind kind = sample.frame.kind;
    if (kind < FrameKind::kMessage || kind > FrameKind::kReadAnnounce) continue;
    Packet packet = packet_of({sample});
    packet.frames[0].number = test::kSampleBase;
    EXPECT_EQ(test::encoded(packet)[kFramesOffset + 1], std::byte{0}) << sample.name;
    packet.frames[0].number = test::kSampleBase + kMessageDeltaMax;
    EXPECT_EQ(test::encoded(packet)[kFramesOffset + 1], std::byte{255}) << sample.name;
    packet.frames[0].number = test::kSampleBase + kMessageDeltaMax + 1;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << sample.name;
    packet.frames[0].number = test::kSampleBase - 1;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << sample.name;
    packet.frames[0].number = test::kSampleBase + (std::uint64_t{1} << 32);
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << sample.name;
  }
}

TEST(Encode, encode__numbers_whose_low_half_wraps) {
  Packet packet = packet_of(FrameKind::kMessage);
  packet.header.message_base = 0x7'ffff'fffe;
  packet.frames[0].number = 0x8'0000'0003;
  const std::vector<std::byte> bytes = test::encoded(packet);
  EXPECT_EQ(to_hex(ByteSpan(bytes).subspan(16, 4)), "feffffff");
  EXPECT_EQ(bytes[kFramesOffset + 1], std::byte{5});
}

TEST(Encode, encode__message_with_a_digest) {
  Packet packet = packet_of(FrameKind::kMessage);
  packet.frames[0].digest = 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__message_digest_borders) {
  Packet packet = packet_of(FrameKind::kMessageDigest);
  packet.frames[0].digest = kDigestMax;
  packet.frames[0].tag = kDigestTagMax;
  EXPECT_EQ(to_hex(ByteSpan(test::encoded(packet)).subspan(kFramesOffset + 7, 5)), "ffffffffff");
  packet.frames[0].digest = 0;
  packet.frames[0].tag = 0;
  EXPECT_EQ(to_hex(ByteSpan(test::encoded(packet)).subspan(kFramesOffset + 7, 5)), "0000000000");
}

TEST(Encode, encode__message_digest_over_24_bits) {
  Packet packet = packet_of(FrameKind::kMessageDigest);
  packet.frames[0].digest = kDigestMax + 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__message_digest_tag_over_16_bits) {
  Packet packet = packet_of(FrameKind::kMessageDigest);
  packet.frames[0].tag = kDigestTagMax + 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__segment_offset_not_a_multiple_of_128) {
  Packet packet = packet_of(FrameKind::kSegment);
  for (std::uint64_t offset = 0; offset <= 512; ++offset) {
    packet.frames[0].offset = offset;
    EXPECT_EQ(encode_error(packet), offset % 128 == 0 ? Errc::kOk : Errc::kInvalidArgument);
  }
}

TEST(Encode, encode__segment_up_to_the_last_byte_of_64_bits) {
  const std::vector<std::byte> payload(128);
  Packet packet = packet_of(FrameKind::kSegment);
  packet.frames[0].payload = payload.data();
  packet.frames[0].offset = kMax - 127;
  packet.frames[0].length = 127;
  EXPECT_EQ(encode_error(packet), Errc::kOk);
  packet.frames[0].length = 128;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Encode, encode__absent_payload) {
  for (const test::Sample& sample : test::samples()) {
    if (!has_payload(sample.frame.kind)) continue;
    Packet packet = packet_of({sample});
    packet.frames[0].payload = nullptr;
    packet.frames[0].length = 1;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << sample.name;
    packet.frames[0].length = 0;
    EXPECT_EQ(encode_error(packet), Errc::kOk) << sample.name;
  }
}

TEST(Encode, encode__payload_over_16_bits_of_length) {
  const std::vector<std::byte> payload(70'000);
  for (const test::Sample& sample : test::samples()) {
    if (!has_payload(sample.frame.kind)) continue;
    Packet packet = packet_of({sample});
    packet.frames[0].payload = payload.data();
    for (const std::uint64_t length : {std::uint64_t{65'536}, std::uint64_t{1} << 32, kMax}) {
      packet.frames[0].length = length;
      EXPECT_EQ(encode_error(packet), Errc::kBadLength) << sample.name;
      std::vector<std::byte> out(100);
      EXPECT_EQ(encode(packet, out, 1).error(), Errc::kBadLength) << "gathered " << sample.name;
    }
  }
}

TEST(Encode, encode__largest_packet) {
  const std::size_t length = kPacketBytesMax - kFramesOffset - kSegmentFrameBytes;
  const std::vector<std::byte> payload(length + 1, std::byte{0x5a});
  Packet packet = packet_of(FrameKind::kSegment);
  packet.frames[0].offset = 0;
  packet.frames[0].payload = payload.data();
  packet.frames[0].length = length;
  std::vector<std::byte> out(2 * kPacketBytesMax);
  const auto largest = encode(packet, out, kCopyAll);
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest.value().head_bytes, kPacketBytesMax);
  EXPECT_EQ(to_hex(ByteSpan(out).subspan(2, 2)), "e3ff");
  packet.frames[0].length = length + 1;
  EXPECT_EQ(encode(packet, out, kCopyAll).error(), Errc::kBadLength);
  EXPECT_EQ(encode(packet, out, 1).error(), Errc::kBadLength) << "gathered";
}

TEST(Encode, encode__payload_of_every_short_length) {
  std::vector<std::byte> payload(300);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i + 1);
  for (std::size_t length = 0; length <= payload.size(); ++length) {
    Packet packet = packet_of({sample_of(FrameKind::kMessage), sample_of(FrameKind::kClose)});
    packet.frames[0].payload = payload.data();
    packet.frames[0].length = length;
    const std::vector<std::byte> bytes = test::encoded(packet);
    ASSERT_EQ(bytes.size(), kFramesOffset + 12 + length + 4);
    const ByteSpan copied = ByteSpan(bytes).subspan(kFramesOffset + 12, length);
    EXPECT_TRUE(std::equal(copied.begin(), copied.end(), payload.begin())) << length;
    EXPECT_EQ(bytes[kFramesOffset + 12 + length], std::byte{0x11}) << length;
  }
}

TEST(EncodeGather, encode__last_payload_at_the_threshold_is_the_tail) {
  const Packet packet = packet_of(FrameKind::kSegment);
  std::vector<std::byte> out(100);
  const auto gathered = encode(packet, out, 5);
  ASSERT_TRUE(gathered.ok());
  EXPECT_EQ(gathered.value().head_bytes, kFramesOffset + kSegmentFrameBytes);
  EXPECT_EQ(gathered.value().tail.data(), packet.frames[0].payload);
  EXPECT_EQ(gathered.value().tail.size(), 5U);
  EXPECT_EQ(to_hex(ByteSpan(out).subspan(2, 2)), "3500") << "the length counts the tail";
}

TEST(EncodeGather, encode__last_payload_below_the_threshold_is_copied) {
  std::vector<std::byte> out(100);
  const auto copied = encode(packet_of(FrameKind::kSegment), out, 6);
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(copied.value().head_bytes, kFramesOffset + kSegmentFrameBytes + 5);
  EXPECT_TRUE(copied.value().tail.empty());
}

TEST(EncodeGather, encode__head_and_tail_are_the_copied_packet) {
  for (const test::Sample& sample : test::samples()) {
    const Packet packet = packet_of({sample_of(FrameKind::kMessage), sample});
    std::vector<std::byte> out(400);
    const auto result = encode(packet, out, 0);
    ASSERT_TRUE(result.ok()) << sample.name;
    out.resize(result.value().head_bytes);
    EXPECT_EQ(to_hex(out) + to_hex(result.value().tail), to_hex(test::encoded(packet)))
        << sample.name;
  }
}

TEST(EncodeGather, encode__payload_before_another_frame_is_copied) {
  const Packet packet = packet_of({sample_of(FrameKind::kSegment), sample_of(FrameKind::kClose)});
  std::vector<std::byte> out(100);
  const auto result = encode(packet, out, 0);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.value().tail.empty());
}

TEST(EncodeGather, encode__tail_needs_no_room_in_the_buffer) {
  const Packet packet = packet_of(FrameKind::kSegment);
  std::vector<std::byte> out(kFramesOffset + kSegmentFrameBytes);
  EXPECT_TRUE(encode(packet, out, 1).ok());
  EXPECT_EQ(encode(packet, out, kCopyAll).error(), Errc::kBadLength);
}

}  // namespace
}  // namespace zhinu::wire

// Frames other than messages and segments: what encode() refuses, and their borders.
#include <gtest/gtest.h>

#include <limits>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::encode_error;
using test::sample_of;
using test::to_hex;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

Packet packet_of(FrameKind kind) { return test::packet_of({sample_of(kind)}); }

// The bytes [from, from + count) of the only frame.
std::string frame_hex(const Packet& packet, std::size_t from, std::size_t count) {
  return to_hex(ByteSpan(test::encoded(packet)).subspan(kFramesOffset + from, count));
}

TEST(FrameEncode, announce__digest_of_24_bits_at_most) {
  Packet packet = packet_of(FrameKind::kAnnounce);
  packet.frames[0].digest = kDigestMax;
  EXPECT_EQ(frame_hex(packet, 5, 3), "ffffff");
  packet.frames[0].digest = 0;
  EXPECT_EQ(frame_hex(packet, 5, 3), "000000");
  packet.frames[0].digest = kDigestMax + 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(FrameEncode, announce__length_of_zero_and_of_64_bits) {
  Packet packet = packet_of(FrameKind::kAnnounce);
  packet.frames[0].length = 0;
  EXPECT_EQ(frame_hex(packet, 16, 8), "0000000000000000");
  packet.frames[0].length = kMax;
  EXPECT_EQ(frame_hex(packet, 16, 8), "ffffffffffffffff");
}

TEST(FrameEncode, put_and_write__unknown_flags) {
  for (const FrameKind kind : {FrameKind::kPut, FrameKind::kWrite}) {
    for (unsigned flags = 0; flags < 256; ++flags) {
      Packet packet = packet_of(kind);
      packet.frames[0].flags = static_cast<std::uint8_t>(flags);
      EXPECT_EQ(encode_error(packet), flags < 4 ? Errc::kOk : Errc::kInvalidArgument) << flags;
    }
  }
}

TEST(FrameEncode, write_and_read__range_that_leaves_64_bits) {
  for (const FrameKind kind : {FrameKind::kWrite, FrameKind::kRead}) {
    Packet packet = packet_of(kind);
    packet.frames[0].offset = kMax;
    packet.frames[0].length = 0;
    EXPECT_EQ(encode_error(packet), Errc::kOk);
    packet.frames[0].length = 1;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
    packet.frames[0].offset = 0;
    packet.frames[0].length = kMax;
    EXPECT_EQ(encode_error(packet), Errc::kOk);
    packet.frames[0].offset = 1;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  }
}

TEST(FrameEncode, put__range_that_leaves_64_bits) {
  Packet packet = packet_of(FrameKind::kPut);
  packet.frames[0].offset = kMax - 5;
  EXPECT_EQ(encode_error(packet), Errc::kOk);
  packet.frames[0].offset = kMax - 4;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(FrameEncode, read_data_and_read_announce__low_half_of_the_read_number) {
  Packet packet = packet_of(FrameKind::kReadData);
  packet.frames[0].offset = 0x3'1234'5678;
  EXPECT_EQ(frame_hex(packet, 8, 4), "78563412");
  packet = packet_of(FrameKind::kReadAnnounce);
  packet.frames[0].offset = 0x3'1234'5678;
  EXPECT_EQ(frame_hex(packet, 12, 4), "78563412");
}

TEST(FrameEncode, grant_refuse_and_cancel__low_half_of_the_message_number) {
  Packet packet = packet_of(FrameKind::kGrant);
  packet.frames[0].number = 0x3'1234'5678;
  EXPECT_EQ(frame_hex(packet, 8, 4), "78563412");
  for (const FrameKind kind : {FrameKind::kRefuse, FrameKind::kCancel}) {
    packet = packet_of(kind);
    packet.frames[0].number = 0x3'1234'5678;
    EXPECT_EQ(frame_hex(packet, 4, 4), "78563412");
  }
}

TEST(FrameEncode, frames_that_name_a_class__unknown_class) {
  for (const FrameKind kind : {FrameKind::kGrant, FrameKind::kCredit, FrameKind::kCreditProbe,
                               FrameKind::kRefuse, FrameKind::kCancel}) {
    Packet packet = packet_of(kind);
    for (std::size_t index = 0; index < 256; ++index) {
      packet.frames[0].traffic_class = static_cast<TrafficClass>(index);
      EXPECT_EQ(encode_error(packet), index < kTrafficClasses ? Errc::kOk : Errc::kInvalidArgument)
          << static_cast<int>(kind) << " class " << index;
    }
  }
}

TEST(FrameEncode, refuse_cancel_and_abort__no_code) {
  for (const FrameKind kind : {FrameKind::kRefuse, FrameKind::kCancel, FrameKind::kAbort}) {
    Packet packet = packet_of(kind);
    packet.frames[0].code = Errc::kOk;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << static_cast<int>(kind);
  }
}

TEST(FrameEncode, close__no_code_is_a_good_end) {
  Packet packet = packet_of(FrameKind::kClose);
  packet.frames[0].code = Errc::kOk;
  EXPECT_EQ(frame_hex(packet, 0, 4), "11000000");
}

TEST(FrameEncode, abort__digest_of_the_other_rank_over_32_bits) {
  Packet packet = packet_of(FrameKind::kAbort);
  packet.frames[0].number = 0xffff'ffff;
  EXPECT_EQ(frame_hex(packet, 20, 4), "ffffffff");
  packet.frames[0].number = 0x1'0000'0000;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(FrameEncode, credit__receives_of_64_bits) {
  Packet packet = packet_of(FrameKind::kCredit);
  packet.frames[0].offset = kMax;
  EXPECT_EQ(frame_hex(packet, 4, 8), "ffffffffffffffff");
}

TEST(FrameEncode, padding__of_one_byte_to_the_end_of_the_packet) {
  Packet packet = packet_of(FrameKind::kPadding);
  packet.frames[0].length = 1;
  EXPECT_EQ(test::encoded(packet).size(), kFramesOffset + 1);
  packet.frames[0].length = kPacketBytesMax - kFramesOffset;
  EXPECT_EQ(test::encoded(packet).size(), kPacketBytesMax);
  packet.frames[0].length = kPacketBytesMax - kFramesOffset + 1;
  EXPECT_EQ(encode_error(packet), Errc::kBadLength);
  packet.frames[0].length = kMax;
  EXPECT_EQ(encode_error(packet), Errc::kBadLength);
}

TEST(FrameEncode, padding__of_no_byte) {
  Packet packet = packet_of(FrameKind::kPadding);
  packet.frames[0].length = 0;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(FrameEncode, padding__before_another_frame) {
  const Packet packet =
      test::packet_of({sample_of(FrameKind::kPadding), sample_of(FrameKind::kClose)});
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(FrameEncode, padding__behind_another_frame_overwrites_a_used_buffer) {
  const Packet packet =
      test::packet_of({sample_of(FrameKind::kClose), sample_of(FrameKind::kPadding)});
  std::vector<std::byte> out(44, std::byte{0xff});
  ASSERT_TRUE(encode(packet, out, 0).ok());
  EXPECT_EQ(to_hex(ByteSpan(out).subspan(kFramesOffset)), "11001c0000000000");
}

}  // namespace
}  // namespace zhinu::wire

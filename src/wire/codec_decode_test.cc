#include <gtest/gtest.h>

#include <algorithm>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::as_decoded;
using test::decode;
using test::difference;
using test::from_hex;
using test::packet_of;
using test::sample_of;

Packet packet_of(FrameKind kind) { return packet_of({sample_of(kind)}); }

std::vector<std::byte> encoded_frame(FrameKind kind) { return test::encoded(packet_of(kind)); }

// The sample header, with the length of all, before `frames`.
std::vector<std::byte> packet_bytes_of(const std::string& frames) {
  const std::size_t bytes = from_hex(frames).size();
  return from_hex(test::sample_header_bytes(kFramesOffset + bytes) + frames);
}

void set_length(std::vector<std::byte>& bytes, std::size_t length) {
  store_le(bytes.data() + 2, static_cast<std::uint16_t>(length));
}

struct DecodedHeader {
  Header header;
  std::size_t packet_bytes = 0;
  Errc error = Errc::kOk;
};

DecodedHeader header_of(ByteSpan bytes) {
  DecodedHeader result;
  result.error = decode_header(bytes, result.header, result.packet_bytes).error();
  return result;
}

TEST(DecodeHeader, decode_header__documented_bytes) {
  const DecodedHeader result = header_of(packet_bytes_of("11001c00"));
  ASSERT_EQ(result.error, Errc::kOk);
  EXPECT_EQ(result.packet_bytes, 40U);
  EXPECT_EQ(result.header.traffic_class, TrafficClass::kGradient);
  EXPECT_TRUE(result.header.key_phase);
  EXPECT_EQ(result.header.path, 3);
  EXPECT_EQ(result.header.number, 0x1122'3344U) << "the low half";
  EXPECT_EQ(result.header.connection, 0x0102'0304'0506'0708U);
  EXPECT_EQ(result.header.message_base, 0x1000U) << "the low half";
}

TEST(DecodeHeader, decode_header__every_first_byte) {
  std::vector<std::byte> bytes = encoded_frame(FrameKind::kClose);
  for (unsigned form = 0; form < 256; ++form) {
    bytes[0] = static_cast<std::byte>(form);
    const bool is_kind = (form & 0x80) != 0 && (form & 0x38) == 0;
    const Errc expected = !is_kind ? Errc::kBadKind : (form & 7) > 4 ? Errc::kBadClass : Errc::kOk;
    EXPECT_EQ(header_of(bytes).error, expected) << form;
  }
}

TEST(DecodeHeader, decode_header__every_truncation) {
  const std::vector<std::byte> bytes = encoded_frame(FrameKind::kMessage);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(header_of(ByteSpan(bytes).first(size)).error, Errc::kTruncatedPacket) << size;
  }
}

TEST(DecodeHeader, decode_header__length_without_room_for_a_frame) {
  std::vector<std::byte> bytes = encoded_frame(FrameKind::kMessage);
  for (std::size_t length = 0; length <= kFramesOffset; ++length) {
    set_length(bytes, length);
    EXPECT_EQ(header_of(bytes).error, Errc::kBadLength) << length;
  }
  EXPECT_EQ(header_of(ByteSpan(bytes).first(kFramesOffset)).error, Errc::kBadLength);
}

TEST(DecodeHeader, decode_header__length_up_to_the_limit) {
  std::vector<std::byte> bytes = encoded_frame(FrameKind::kMessage);
  bytes.resize(0xffff);
  set_length(bytes, kPacketBytesMax);
  EXPECT_EQ(header_of(bytes).error, Errc::kOk);
  for (std::size_t length = kPacketBytesMax + 1; length <= 0xffff; ++length) {
    set_length(bytes, length);
    EXPECT_EQ(header_of(bytes).error, Errc::kBadLength) << length;
  }
}

TEST(DecodeHeader, decode_header__packets_back_to_back_are_cut_by_their_length) {
  const std::vector<std::byte> first = encoded_frame(FrameKind::kMessage);
  const std::vector<std::byte> second = encoded_frame(FrameKind::kAck);
  std::vector<std::byte> buffer = first;
  buffer.insert(buffer.end(), second.begin(), second.end());
  const std::size_t cut = header_of(buffer).packet_bytes;
  EXPECT_EQ(cut, first.size());
  EXPECT_EQ(header_of(ByteSpan(buffer).subspan(cut)).packet_bytes, second.size());
}

TEST(DecodeHeader, decode_header__leaves_its_arguments_after_an_error) {
  DecodedHeader result;
  result.header.path = 77;
  result.packet_bytes = 99;
  EXPECT_FALSE(decode_header({}, result.header, result.packet_bytes).ok());
  EXPECT_EQ(result.header.path, 77);
  EXPECT_EQ(result.packet_bytes, 99U);
}

TEST(DecodeFrames, decode_frames__documented_bytes_of_every_kind) {
  for (const test::Sample& sample : test::samples()) {
    const std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
    Packet decoded;
    ASSERT_EQ(decode(bytes, decoded), Errc::kOk) << sample.name;
    EXPECT_EQ(difference(decoded, as_decoded(packet_of({sample}))), "") << sample.name;
  }
}

TEST(DecodeFrames, decode_frames__all_kinds_in_one_packet) {
  const Packet packet = packet_of(test::samples());
  const std::vector<std::byte> bytes = test::encoded(packet);
  Packet decoded;
  ASSERT_EQ(decode(bytes, decoded), Errc::kOk);
  EXPECT_EQ(difference(decoded, as_decoded(packet)), "");
}

TEST(DecodeFrames, decode_frames__payload_borrows_from_the_packet) {
  const std::vector<std::byte> bytes = encoded_frame(FrameKind::kMessage);
  Packet decoded;
  ASSERT_EQ(decode(bytes, decoded), Errc::kOk);
  EXPECT_EQ(decoded.frames[0].payload, bytes.data() + kFramesOffset + 12);
}

// Nothing of an earlier packet may shine through: a receiver trusts every member.
TEST(DecodeFrames, decode_frames__overwrites_all_that_an_earlier_packet_left) {
  for (const test::Sample& sample : test::samples()) {
    Packet fresh;
    Packet used;
    for (Frame& frame : used.frames) {
      frame = Frame{.kind = FrameKind::kPut,
                    .traffic_class = TrafficClass::kDataset,
                    .order = 0xee,
                    .flags = 0xee,
                    .communicator = 0xeeee,
                    .code = Errc::kBadAck,
                    .tag = 0xeeee'eeee,
                    .digest = 0xeeee'eeee,
                    .number = 0xeeee'eeee'eeee,
                    .token = 0xeeee'eeee,
                    .peer_token = 0xeeee'eeee,
                    .offset = 0xeeee'eeee'eeee,
                    .length = 0xeeee'eeee'eeee,
                    .payload = nullptr,
                    .region_key = 0xeeee'eeee'eeee};
    }
    used.frame_count = 3;
    used.ack_range_count = 9;
    const std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
    ASSERT_EQ(decode(bytes, fresh), Errc::kOk);
    ASSERT_EQ(decode(bytes, used), Errc::kOk);
    EXPECT_EQ(difference(used, fresh), "") << sample.name;
    EXPECT_EQ(used.frames[0].payload, fresh.frames[0].payload) << sample.name;
  }
}

// Wherever the packet ends inside the frame, a decoder must notice by itself: the
// length in the header says that the packet is whole.
TEST(DecodeFrames, decode_frames__every_truncation_of_every_kind) {
  for (const test::Sample& sample : test::samples()) {
    if (sample.frame.kind == FrameKind::kPadding) continue;
    const std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
    const std::size_t fixed = bytes_of(sample.frame.kind);
    for (std::size_t size = kFramesOffset + 1; size < bytes.size(); ++size) {
      std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      set_length(cut, size);
      Packet decoded;
      const bool in_payload = has_payload(sample.frame.kind) && size >= kFramesOffset + fixed;
      EXPECT_EQ(decode(cut, decoded), in_payload ? Errc::kBadLength : Errc::kTruncatedPacket)
          << sample.name << " cut to " << size;
      EXPECT_EQ(decoded.frame_count, 0U);
      EXPECT_EQ(decoded.ack_range_count, 0U);
    }
  }
}

TEST(DecodeFrames, decode_frames__every_reserved_bit_of_every_kind) {
  for (const test::Sample& sample : test::samples()) {
    for (const test::ReservedBits& reserved : sample.reserved) {
      for (unsigned bit = 1; bit < 256; bit *= 2) {
        if ((reserved.mask & bit) == 0) continue;
        std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
        bytes[kFramesOffset + reserved.byte] |= static_cast<std::byte>(bit);
        Packet decoded;
        EXPECT_EQ(decode(bytes, decoded), Errc::kBadFrame)
            << sample.name << " byte " << reserved.byte << " bit " << bit;
      }
    }
  }
}

// A bit that neither is refused nor comes back would be a place to hide data in, and
// could never get a meaning later.
TEST(DecodeFrames, decode_frames__no_bit_is_ignored) {
  for (const test::Sample& sample : test::samples()) {
    const std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
    for (std::size_t bit = kFramesOffset * 8; bit < bytes.size() * 8; ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      Packet decoded;
      if (decode(flipped, decoded) != Errc::kOk) continue;
      test::expand_packet(decoded);
      EXPECT_EQ(test::to_hex(test::encoded(decoded)), test::to_hex(flipped))
          << sample.name << " bit " << bit;
    }
  }
}

TEST(DecodeFrames, decode_frames__every_unknown_kind) {
  for (std::size_t kind = kFrameKinds; kind < 256; ++kind) {
    std::vector<std::byte> bytes = encoded_frame(FrameKind::kClose);
    bytes[kFramesOffset] = static_cast<std::byte>(kind);
    Packet decoded;
    EXPECT_EQ(decode(bytes, decoded), Errc::kBadFrame) << kind;
  }
}

TEST(DecodeFrames, decode_frames__sizes_that_decode_header_does_not_pass) {
  const std::vector<std::byte> bytes(kPacketBytesMax + 1);
  Packet decoded;
  for (std::size_t size = 0; size < kFramesOffset; ++size) {
    EXPECT_EQ(decode_frames(ByteSpan(bytes).first(size), decoded).error(), Errc::kTruncatedPacket);
  }
  EXPECT_EQ(decode_frames(ByteSpan(bytes).first(kFramesOffset), decoded).error(), Errc::kBadLength);
  EXPECT_TRUE(decode_frames(ByteSpan(bytes).first(kPacketBytesMax), decoded).ok()) << "padding";
  EXPECT_EQ(decode_frames(bytes, decoded).error(), Errc::kBadLength);
}

TEST(DecodeFrames, decode_frames__128_frames_but_not_129) {
  std::string frames;
  for (std::size_t i = 0; i < kFramesMax; ++i) frames += "11001c00";
  Packet decoded;
  ASSERT_EQ(decode(packet_bytes_of(frames), decoded), Errc::kOk);
  EXPECT_EQ(decoded.frame_count, kFramesMax);
  EXPECT_EQ(decode(packet_bytes_of(frames + "11001c00"), decoded), Errc::kBadFrame);
  EXPECT_EQ(decode(packet_bytes_of(frames + "00"), decoded), Errc::kBadFrame) << "padding counts";
}

TEST(DecodeFrames, decode_frames__good_frames_before_a_bad_one_are_not_handed_out) {
  Packet decoded;
  EXPECT_EQ(decode(packet_bytes_of(sample_of(FrameKind::kAck).bytes + "ff"), decoded),
            Errc::kBadFrame);
  EXPECT_EQ(decoded.frame_count, 0U);
  EXPECT_EQ(decoded.ack_range_count, 0U);
}

TEST(DecodeFrames, decode_frames__number_is_the_expanded_base_plus_delta) {
  Packet packet = packet_of(FrameKind::kMessage);
  packet.header.message_base = 0x7'ffff'fffe;
  packet.frames[0].number = 0x8'0000'0003;
  const auto bytes = test::encoded(packet);
  Packet decoded;
  std::size_t packet_bytes = 0;
  ASSERT_TRUE(decode_header(bytes, decoded.header, packet_bytes).ok());
  EXPECT_EQ(decoded.header.message_base, 0xffff'fffeU);
  decoded.header.message_base =
      expand_number(static_cast<std::uint32_t>(decoded.header.message_base), 0x7'ffff'fff0);
  ASSERT_TRUE(decode_frames(bytes, decoded).ok());
  EXPECT_EQ(decoded.frames[0].number, 0x8'0000'0003U);
}

TEST(DecodeFrames, decode_frames__payload_length_one_beyond_the_packet) {
  for (const test::Sample& sample : test::samples()) {
    if (!has_payload(sample.frame.kind)) continue;
    std::vector<std::byte> bytes = packet_bytes_of(sample.bytes);
    store_le(bytes.data() + kFramesOffset + 2, static_cast<std::uint16_t>(sample.frame.length + 1));
    Packet decoded;
    EXPECT_EQ(decode(bytes, decoded), Errc::kBadLength) << sample.name;
    store_le(bytes.data() + kFramesOffset + 2, std::uint16_t{0xffff});
    EXPECT_EQ(decode(bytes, decoded), Errc::kBadLength) << sample.name;
  }
}

TEST(DecodeFrames, decode_frames__segment_beyond_64_bits) {
  Packet decoded;
  EXPECT_EQ(decode(packet_bytes_of("04000000 80ffffffffffffff"), decoded), Errc::kOk);
  const std::string payload(2 * 128, '0');
  EXPECT_EQ(decode(packet_bytes_of("04008000 80ffffffffffffff" + payload), decoded),
            Errc::kBadFrame);
  EXPECT_EQ(decode(packet_bytes_of("04007f00 80ffffffffffffff" + payload.substr(2)), decoded),
            Errc::kOk);
}

TEST(DecodeFrames, decode_frames__largest_packet) {
  const std::size_t length = kPacketBytesMax - kFramesOffset - kMessageFrameBytes;
  const std::vector<std::byte> payload(length, std::byte{0x5a});
  Packet packet = packet_of(FrameKind::kMessage);
  packet.frames[0].payload = payload.data();
  packet.frames[0].length = length;
  Packet decoded;
  ASSERT_EQ(decode(test::encoded(packet), decoded), Errc::kOk);
  EXPECT_EQ(decoded.frames[0].length, length);
}

}  // namespace
}  // namespace zhinu::wire

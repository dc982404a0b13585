// Frames other than messages and segments: what decode_frames() refuses, and why.
// Truncations, reserved bits and good values of all kinds: codec_decode_test.cc.
#include <gtest/gtest.h>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::decode;
using test::from_hex;
using test::sample_of;

Errc decode_frame(const std::string& frame, Packet& decoded) {
  const std::size_t bytes = from_hex(frame).size();
  return decode(from_hex(test::sample_header_bytes(kFramesOffset + bytes) + frame), decoded);
}

Errc error_of(const std::string& frame) {
  Packet decoded;
  return decode_frame(frame, decoded);
}

// The first frame of a packet that holds this one.
Frame frame_of(const std::string& frame) {
  Packet decoded;
  EXPECT_EQ(decode_frame(frame, decoded), Errc::kOk) << frame;
  return decoded.frames[0];
}

// The sample of `kind` with one byte of its frame replaced.
Errc error_with_byte(FrameKind kind, std::size_t at, unsigned value) {
  std::vector<std::byte> frame = from_hex(sample_of(kind).bytes);
  frame[at] = static_cast<std::byte>(value);
  return error_of(test::to_hex(frame));
}

TEST(FrameDecode, frames_that_name_a_class__every_value) {
  for (const FrameKind kind : {FrameKind::kGrant, FrameKind::kCredit, FrameKind::kCreditProbe,
                               FrameKind::kRefuse, FrameKind::kCancel}) {
    for (unsigned value = 0; value < 256; ++value) {
      EXPECT_EQ(error_with_byte(kind, 1, value),
                value < kTrafficClasses ? Errc::kOk : Errc::kBadClass)
          << static_cast<int>(kind) << " class " << value;
    }
  }
}

// A code of zero would say "failed: ok", and a Result cannot hold it.
TEST(FrameDecode, refuse_cancel_and_abort__no_code) {
  EXPECT_EQ(error_of("0e 02 0000 05100000 44332211"), Errc::kBadFrame);
  EXPECT_EQ(error_of("0f 02 0000 05100000"), Errc::kBadFrame);
  EXPECT_EQ(error_of("10 00 0201 0000 0000 07000000 44332211 ccbbaa99 04030201"), Errc::kBadFrame);
}

TEST(FrameDecode, refuse_cancel_and_abort__code_of_a_later_version_is_kept) {
  EXPECT_EQ(frame_of("0e 02 ffff 05100000 44332211").code, static_cast<Errc>(0xffff));
  EXPECT_EQ(frame_of("0f 02 e703 05100000").code, static_cast<Errc>(999));
  EXPECT_EQ(frame_of("10 00 0201 0080 0000 07000000 44332211 ccbbaa99 04030201").code,
            static_cast<Errc>(0x8000));
}

TEST(FrameDecode, close__with_and_without_code) {
  EXPECT_EQ(frame_of("11 00 0000").code, Errc::kOk);
  EXPECT_EQ(frame_of("11 00 1c00").code, Errc::kPeerClosed);
}

TEST(FrameDecode, read_announce__with_and_without_code) {
  const std::string after = "44332211 88776655 77070000 0605040302010000";
  EXPECT_EQ(frame_of("0a 05 0000" + after).code, Errc::kOk) << "the data waits for a grant";
  EXPECT_EQ(frame_of("0a 05 1800" + after).code, Errc::kRegionRefused);
  EXPECT_EQ(frame_of("0a 05 ffff" + after).code, static_cast<Errc>(0xffff));
}

TEST(FrameDecode, announce__digest_has_24_bits) {
  EXPECT_EQ(frame_of("05 05 0201 09 ffffff d4c3b2a1 44332211 0605040302010000").digest, kDigestMax);
  EXPECT_EQ(frame_of("05 05 0201 09 010000 d4c3b2a1 44332211 0605040302010000").digest, 1U);
  EXPECT_EQ(frame_of("05 05 0201 09 000001 d4c3b2a1 44332211 0605040302010000").digest, 0x10000U);
}

TEST(FrameDecode, message_digest__digest_and_tag_do_not_mix) {
  const Frame digest = frame_of("03 00 0000 0000 00 ffffff 0000");
  EXPECT_EQ(digest.digest, kDigestMax);
  EXPECT_EQ(digest.tag, 0U);
  const Frame tag = frame_of("03 00 0000 0000 00 000000 ffff");
  EXPECT_EQ(tag.digest, 0U);
  EXPECT_EQ(tag.tag, kDigestTagMax);
}

TEST(FrameDecode, put__every_flag) {
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_EQ(error_with_byte(FrameKind::kPut, 6, value),
              value <= kFlagsKnown ? Errc::kOk : Errc::kBadFrame)
        << value;
  }
}

TEST(FrameDecode, write__every_flag) {
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_EQ(error_with_byte(FrameKind::kWrite, 40, value),
              value <= kFlagsKnown ? Errc::kOk : Errc::kBadFrame)
        << value;
  }
}

TEST(FrameDecode, put__range_that_leaves_64_bits) {
  const std::string before = "06 05 0500 0201 03 00 d4c3b2a1 ccbbaa99 1122334455667788";
  EXPECT_EQ(error_of(before + "faffffffffffffff 7a68696e75"), Errc::kOk);
  EXPECT_EQ(error_of(before + "fbffffffffffffff 7a68696e75"), Errc::kBadFrame);
}

TEST(FrameDecode, write__range_that_leaves_64_bits) {
  const std::string before = "07 05 0201 44332211 d4c3b2a1 ccbbaa99 1122334455667788";
  EXPECT_EQ(error_of(before + "ffffffffffffffff 0000000000000000 01000000"), Errc::kOk);
  EXPECT_EQ(error_of(before + "ffffffffffffffff 0100000000000000 01000000"), Errc::kBadFrame);
  EXPECT_EQ(error_of(before + "0100000000000000 ffffffffffffffff 01000000"), Errc::kBadFrame);
}

TEST(FrameDecode, read__range_that_leaves_64_bits) {
  const std::string before = "08 05 0201 44332211 1122334455667788";
  EXPECT_EQ(error_of(before + "ffffffffffffffff 0000000000000000"), Errc::kOk);
  EXPECT_EQ(error_of(before + "ffffffffffffffff 0100000000000000"), Errc::kBadFrame);
  EXPECT_EQ(error_of(before + "0100000000000000 ffffffffffffffff"), Errc::kBadFrame);
}

TEST(FrameDecode, padding__of_one_byte) {
  const Frame frame = frame_of("00");
  EXPECT_EQ(frame.kind, FrameKind::kPadding);
  EXPECT_EQ(frame.length, 1U);
}

TEST(FrameDecode, padding__takes_the_rest_of_the_packet) {
  Packet decoded;
  ASSERT_EQ(decode_frame("11001c00" + std::string(2 * 1000, '0'), decoded), Errc::kOk);
  EXPECT_EQ(decoded.frame_count, 2U);
  EXPECT_EQ(decoded.frames[1].length, 1000U);
}

TEST(FrameDecode, padding__a_byte_that_is_not_zero_anywhere) {
  for (std::size_t at = 1; at < 40; ++at) {
    std::vector<std::byte> frame(40);
    frame[at] = std::byte{1};
    EXPECT_EQ(error_of(test::to_hex(frame)), Errc::kBadFrame) << at;
  }
}

TEST(FrameDecode, numbers__of_answers_stay_as_they_are) {
  EXPECT_EQ(frame_of("0b 03 0000 44332211 ffffffff 0807060504030201").number, 0xffff'ffffU);
  EXPECT_EQ(frame_of("09 05 0000 44332211 ffffffff").offset, 0xffff'ffffU);
  EXPECT_EQ(frame_of("09 05 0000 44332211 ffffffff").number, 0x1005U) << "of the answer itself";
}

}  // namespace
}  // namespace zhinu::wire

#include <gtest/gtest.h>

#include <limits>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::decode;
using test::encode_error;
using test::from_hex;

constexpr std::uint64_t kWindow = std::uint64_t{1} << 32;

// A packet with one ACK of these ranges, highest first.
Packet ack_of(const std::vector<AckRange>& ranges) {
  Packet packet;
  Frame& frame = packet.add(FrameKind::kAck);
  frame.number = ranges.empty() ? 0 : ranges.front().last;
  frame.peer_token = static_cast<std::uint32_t>(ranges.size());
  for (const AckRange& range : ranges) packet.ack_ranges[packet.ack_range_count++] = range;
  return packet;
}

// `count` ranges of one packet each, with one packet missing between them.
std::vector<AckRange> comb(std::size_t count, std::uint64_t largest) {
  std::vector<AckRange> ranges;
  for (std::size_t i = 0; i < count; ++i) ranges.push_back({largest - 2 * i, largest - 2 * i});
  return ranges;
}

Errc decode_error(const std::string& frames) {
  const std::size_t bytes = from_hex(frames).size();
  Packet decoded;
  return decode(from_hex(test::sample_header_bytes(kFramesOffset + bytes) + frames), decoded);
}

// Encodes and decodes one ACK, and makes its ranges whole again.
std::vector<AckRange> round_trip(const std::vector<AckRange>& ranges) {
  Packet decoded;
  EXPECT_EQ(decode(test::encoded(ack_of(ranges)), decoded), Errc::kOk);
  const Frame& frame = decoded.frames[0];
  const auto decoded_ranges = std::span(decoded.ack_ranges).subspan(frame.token, frame.peer_token);
  const std::uint64_t largest =
      expand_number(static_cast<std::uint32_t>(frame.number), ranges.front().last);
  EXPECT_TRUE(rebase_ack_ranges(decoded_ranges, largest).ok());
  return {decoded_ranges.begin(), decoded_ranges.end()};
}

void expect_round_trip(const std::vector<AckRange>& ranges) {
  const std::vector<AckRange> result = round_trip(ranges);
  ASSERT_EQ(result.size(), ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(result[i].first, ranges[i].first) << i;
    EXPECT_EQ(result[i].last, ranges[i].last) << i;
  }
}

TEST(AckCodec, round_trip__one_packet) { expect_round_trip({{7, 7}}); }

TEST(AckCodec, round_trip__down_to_packet_zero) {
  expect_round_trip({{0, 0}});
  expect_round_trip({{0, 9}});
  expect_round_trip({{5, 9}, {0, 3}});
}

TEST(AckCodec, round_trip__across_a_wrap_of_the_low_half) {
  expect_round_trip({{0x3'0000'0000, 0x3'0000'0005}, {0x2'ffff'ff00, 0x2'ffff'fff0}});
  expect_round_trip({{0x2'ffff'ff00, 0x3'0000'0005}});
}

TEST(AckCodec, round_trip__as_far_apart_as_32_bits_can_say) {
  expect_round_trip({{0, kWindow - 1}});
  expect_round_trip({{9 * kWindow, 9 * kWindow + 3}, {8 * kWindow + 4, 8 * kWindow + 4}});
}

TEST(AckCodec, round_trip__most_ranges_of_one_frame) {
  expect_round_trip(comb(kAckRangesPerFrameMax, 1'000'000));
}

TEST(AckCodec, round_trip__largest_number_of_64_bits) {
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  expect_round_trip({{max, max}, {max - 9, max - 2}});
}

TEST(AckEncode, no_range) { EXPECT_EQ(encode_error(ack_of({})), Errc::kInvalidArgument); }

TEST(AckEncode, more_ranges_than_a_frame_holds) {
  EXPECT_EQ(encode_error(ack_of(comb(kAckRangesPerFrameMax + 1, 1000))), Errc::kInvalidArgument);
}

TEST(AckEncode, ranges_that_the_packet_does_not_have) {
  Packet packet = ack_of(comb(4, 1000));
  packet.frames[0].token = 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  packet.frames[0].token = 5;
  packet.frames[0].peer_token = 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  packet.frames[0].token = 0xffff'ffff;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  packet = ack_of(comb(4, 1000));
  packet.frames[0].peer_token = 0xffff'ffff;
  EXPECT_NE(encode_error(packet), Errc::kOk);
  packet = ack_of(comb(4, 1000));
  packet.ack_range_count = kAckRangesMax + 1;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(AckEncode, number_is_not_the_last_of_the_first_range) {
  Packet packet = ack_of({{5, 9}});
  packet.frames[0].number = 8;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  packet.frames[0].number = 10;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(AckEncode, range_that_ends_before_it_starts) {
  EXPECT_EQ(encode_error(ack_of({{9, 5}})), Errc::kInvalidArgument);
  EXPECT_EQ(encode_error(ack_of({{200, 99}, {1, 2}})), Errc::kInvalidArgument);
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {9, 5}})), Errc::kInvalidArgument);
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {50, 40}, {1, 2}})), Errc::kInvalidArgument);
}

TEST(AckEncode, ranges_that_touch_or_overlap_or_ascend) {
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {80, 88}})), Errc::kOk) << "one packet between";
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {80, 89}})), Errc::kInvalidArgument) << "touching";
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {80, 90}})), Errc::kInvalidArgument) << "overlapping";
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {200, 201}})), Errc::kInvalidArgument) << "ascending";
  EXPECT_EQ(encode_error(ack_of({{90, 99}, {200, 201}, {1, 2}})), Errc::kInvalidArgument);
}

TEST(AckEncode, ranges_farther_apart_than_32_bits) {
  EXPECT_EQ(encode_error(ack_of({{0, kWindow - 1}})), Errc::kOk);
  EXPECT_EQ(encode_error(ack_of({{0, kWindow}})), Errc::kInvalidArgument);
  EXPECT_EQ(encode_error(ack_of({{kWindow, kWindow}, {0, 0}})), Errc::kInvalidArgument);
}

TEST(AckEncode, more_ranges_than_a_packet_holds) {
  Packet packet = ack_of(comb(32, 1000));
  for (int i = 0; i < 2; ++i) {
    packet.add(FrameKind::kAck);
    packet.frames[packet.frame_count - 1] = packet.frames[0];
    EXPECT_EQ(encode_error(packet), i == 0 ? Errc::kOk : Errc::kInvalidArgument);
  }
}

TEST(AckDecode, range_count_of_0_and_33) {
  const std::string before = "01 03";
  const std::string after = "00 00100000 fa000000 00000000 00000000";
  const std::string ranges(2 * 32 * 8, '0');
  EXPECT_EQ(decode_error(before + "00" + after), Errc::kBadFrame);
  EXPECT_EQ(decode_error(before + "20" + after + ranges.substr(16)), Errc::kOk);
  EXPECT_EQ(decode_error(before + "21" + after + ranges), Errc::kBadFrame);
}

TEST(AckDecode, more_ranges_than_a_packet_holds) {
  const std::string head = "00100000 fa000000 00000000 00000000";
  const std::string full = "01 03 20 00" + head + std::string(2 * 31 * 8, '0');
  EXPECT_EQ(decode_error(full + full), Errc::kOk);
  EXPECT_EQ(decode_error(full + full + "01 03 01 00" + head), Errc::kBadFrame);
}

TEST(AckDecode, ranges_that_leave_the_32_bits_below_the_largest) {
  const std::string head = "00100000 fa000000 00000000";
  EXPECT_EQ(decode_error("01 03 01 00" + head + "ffffffff"), Errc::kOk);
  // First range: all but the last number; then a gap of one, which has no room left.
  EXPECT_EQ(decode_error("01 03 02 00" + head + "feffffff 00000000 00000000"), Errc::kBadFrame);
  EXPECT_EQ(decode_error("01 03 02 00" + head + "fdffffff 00000000 00000000"), Errc::kOk);
  EXPECT_EQ(decode_error("01 03 02 00" + head + "fdffffff 00000000 01000000"), Errc::kBadFrame);
  EXPECT_EQ(decode_error("01 03 02 00" + head + "00000000 ffffffff 00000000"), Errc::kBadFrame);
  EXPECT_EQ(decode_error("01 03 02 00" + head + "00000000 00000000 ffffffff"), Errc::kBadFrame);
}

// 32 ranges of the largest steps: sums that would wrap 32 bits many times.
TEST(AckDecode, ranges_that_would_wrap_again_and_again) {
  EXPECT_EQ(
      decode_error("01 03 20 00 00100000 fa000000 00000000" + std::string(2 * (4 + 31 * 8), 'f')),
      Errc::kBadFrame);
}

TEST(AckDecode, further_ranges_cut_off) {
  const std::string whole = "01 03 03 00 00010000 fa000000 00000000 10000000";
  const std::string ranges = "0e00000060000000 6e00000000000000";
  EXPECT_EQ(decode_error(whole + ranges), Errc::kOk);
  EXPECT_EQ(decode_error(whole + ranges.substr(0, 16)), Errc::kTruncatedPacket);
  EXPECT_EQ(decode_error(whole), Errc::kTruncatedPacket);
}

TEST(AckDecode, decoded_ranges_stand_on_a_base_of_32_bits) {
  Packet decoded;
  ASSERT_EQ(decode(test::encoded(ack_of({{2, 3}, {0, 0}})), decoded), Errc::kOk);
  EXPECT_EQ(decoded.frames[0].number, 3U);
  EXPECT_EQ(decoded.ack_ranges[0].last, kWindow + 3);
  EXPECT_EQ(decoded.ack_ranges[0].first, kWindow + 2);
  EXPECT_EQ(decoded.ack_ranges[1].first, kWindow);
}

TEST(AckDecode, two_frames_share_the_ranges_of_the_packet) {
  Packet packet = ack_of(comb(3, 1000));
  packet.ack_ranges[3] = {50, 60};
  packet.ack_range_count = 4;
  Frame& second = packet.add(FrameKind::kAck);
  second.number = 60;
  second.token = 3;
  second.peer_token = 1;
  Packet decoded;
  ASSERT_EQ(decode(test::encoded(packet), decoded), Errc::kOk);
  EXPECT_EQ(decoded.frames[0].token, 0U);
  EXPECT_EQ(decoded.frames[0].peer_token, 3U);
  EXPECT_EQ(decoded.frames[1].token, 3U);
  EXPECT_EQ(decoded.frames[1].peer_token, 1U);
  EXPECT_EQ(decoded.ack_ranges[3].last, kWindow + 60);
}

TEST(RebaseAckRanges, rebase_ack_ranges__no_range) { EXPECT_TRUE(rebase_ack_ranges({}, 5).ok()); }

TEST(RebaseAckRanges, rebase_ack_ranges__down_to_zero_but_not_below) {
  std::array<AckRange, 2> ranges = {AckRange{kWindow + 8, kWindow + 9}, AckRange{kWindow, kWindow}};
  EXPECT_TRUE(rebase_ack_ranges(ranges, 9).ok());
  EXPECT_EQ(ranges[0].last, 9U);
  EXPECT_EQ(ranges[0].first, 8U);
  EXPECT_EQ(ranges[1].last, 0U);
  EXPECT_EQ(ranges[1].first, 0U);
}

TEST(RebaseAckRanges, rebase_ack_ranges__below_zero_changes_nothing) {
  std::array<AckRange, 2> ranges = {AckRange{kWindow + 8, kWindow + 9},
                                    AckRange{kWindow - 1, kWindow}};
  EXPECT_EQ(rebase_ack_ranges(ranges, 9).error(), Errc::kBadAck);
  EXPECT_EQ(ranges[0].last, kWindow + 9);
  EXPECT_EQ(ranges[1].first, kWindow - 1);
}

TEST(RebaseAckRanges, rebase_ack_ranges__upwards) {
  std::array<AckRange, 1> ranges = {AckRange{kWindow + 8, kWindow + 9}};
  EXPECT_TRUE(rebase_ack_ranges(ranges, 7 * kWindow + 9).ok());
  EXPECT_EQ(ranges[0].first, 7 * kWindow + 8);
  EXPECT_EQ(ranges[0].last, 7 * kWindow + 9);
}

TEST(RebaseAckRangesDeathTest, rebase_ack_ranges__largest_of_another_frame) {
  std::array<AckRange, 1> ranges = {AckRange{kWindow + 8, kWindow + 9}};
  EXPECT_DEATH(static_cast<void>(rebase_ack_ranges(ranges, 10)), "assertion failed");
}

}  // namespace
}  // namespace zhinu::wire

#include "wire/samples_test.h"

#include <array>

namespace zhinu::wire::test {
namespace {

constexpr std::array<std::byte, 5> kPayload = {std::byte{0x7a}, std::byte{0x68}, std::byte{0x69},
                                               std::byte{0x6e}, std::byte{0x75}};  // "zhinu"

Frame frame_of(FrameKind kind) {
  Frame frame;
  frame.kind = kind;
  frame.number = has_payload(kind) || kind == FrameKind::kAnnounce ? kSampleBase + 5 : 0;
  if (has_payload(kind)) {
    frame.length = kPayload.size();
    frame.payload = kPayload.data();
  }
  return frame;
}

// A frame of a message of communicator 0x0102.
Frame message_of(FrameKind kind, std::uint32_t tag, std::uint32_t digest) {
  Frame frame = frame_of(kind);
  frame.communicator = 0x0102;
  frame.order = 9;
  frame.tag = tag;
  frame.digest = digest;
  return frame;
}

// A one-sided frame, with notification.
Frame access_of(FrameKind kind) {
  Frame frame = frame_of(kind);
  frame.number = kSampleBase + 5;
  frame.communicator = 0x0102;
  frame.region_key = 0x8877'6655'4433'2211;
  frame.offset = 0x10001;
  if (kind != FrameKind::kRead) {
    frame.flags = kFlagNotify;
    frame.tag = 0xa1b2'c3d4;
    frame.digest = 0x99aa'bbcc;
  }
  if (kind != FrameKind::kPut) {
    frame.token = 0x1122'3344;
    frame.length = 0x0102'0304'0506;
  }
  return frame;
}

void add_messages(std::vector<Sample>& list) {
  list.push_back({.name = "message",
                  .frame = message_of(FrameKind::kMessage, 0xa1b2'c3d4, 0),
                  .ranges = {},
                  .bytes = "02 05 0500 0201 09 00 d4c3b2a1 7a68696e75",
                  .reserved = {{.byte = 7}}});
  Frame empty = frame_of(FrameKind::kMessage);
  empty.number = kSampleBase;
  empty.length = 0;
  empty.payload = nullptr;
  list.push_back({.name = "message_empty",
                  .frame = empty,
                  .ranges = {},
                  .bytes = "02 00 0000 0000 00 00 00000000",
                  .reserved = {{.byte = 7}}});
  list.push_back({.name = "message_digest",
                  .frame = message_of(FrameKind::kMessageDigest, 0x1234, 0x5a6b7c),
                  .ranges = {},
                  .bytes = "03 05 0500 0201 09 7c6b5a 3412 7a68696e75",
                  .reserved = {}});
  Frame segment = frame_of(FrameKind::kSegment);
  segment.number = kSampleBase + 255;
  segment.offset = 0x0102'0304'0506'0780;
  list.push_back({.name = "segment",
                  .frame = segment,
                  .ranges = {},
                  .bytes = "04 ff 0500 8007060504030201 7a68696e75",
                  .reserved = {{.byte = 4, .mask = 0x7f}}});
  Frame announce = message_of(FrameKind::kAnnounce, 0xa1b2'c3d4, 0x5a6b7c);
  announce.token = 0x1122'3344;
  announce.length = 0x0102'0304'0506;
  list.push_back({.name = "announce",
                  .frame = announce,
                  .ranges = {},
                  .bytes = "05 05 0201 09 7c6b5a d4c3b2a1 44332211 0605040302010000",
                  .reserved = {}});
}

void add_accesses(std::vector<Sample>& list) {
  Frame put = access_of(FrameKind::kPut);
  put.flags = kFlagNotify | kFlagOrdered;
  list.push_back({.name = "put",
                  .frame = put,
                  .ranges = {},
                  .bytes = "06 05 0500 0201 03 00 d4c3b2a1 ccbbaa99 1122334455667788"
                           "0100010000000000 7a68696e75",
                  .reserved = {{.byte = 6, .mask = 0xfc}, {.byte = 7}}});
  list.push_back({.name = "write",
                  .frame = access_of(FrameKind::kWrite),
                  .ranges = {},
                  .bytes = "07 05 0201 44332211 d4c3b2a1 ccbbaa99 1122334455667788"
                           "0100010000000000 0605040302010000 01 000000",
                  .reserved = {{.byte = 40, .mask = 0xfc}, {41}, {42}, {43}}});
  list.push_back({.name = "read",
                  .frame = access_of(FrameKind::kRead),
                  .ranges = {},
                  .bytes = "08 05 0201 44332211 1122334455667788 0100010000000000"
                           "0605040302010000",
                  .reserved = {}});
  Frame data = frame_of(FrameKind::kReadData);
  data.token = 0x1122'3344;
  data.offset = 0x777;
  list.push_back({.name = "read_data",
                  .frame = data,
                  .ranges = {},
                  .bytes = "09 05 0500 44332211 77070000 7a68696e75",
                  .reserved = {}});
  Frame announce = data;
  announce.kind = FrameKind::kReadAnnounce;
  announce.code = Errc::kRegionRefused;
  announce.peer_token = 0x5566'7788;
  announce.length = 0x0102'0304'0506;
  announce.payload = nullptr;
  list.push_back({.name = "read_announce",
                  .frame = announce,
                  .ranges = {},
                  .bytes = "0a 05 1800 44332211 88776655 77070000 0605040302010000",
                  .reserved = {}});
}

void add_flow_control(std::vector<Sample>& list) {
  Frame grant = frame_of(FrameKind::kGrant);
  grant.traffic_class = TrafficClass::kWeights;
  grant.token = 0x1122'3344;
  grant.number = 0x1005;
  grant.offset = 0x0102'0304'0506'0708;
  list.push_back({.name = "grant",
                  .frame = grant,
                  .ranges = {},
                  .bytes = "0b 03 0000 44332211 05100000 0807060504030201",
                  .reserved = {{2}, {3}}});
  Frame credit = frame_of(FrameKind::kCredit);
  credit.traffic_class = TrafficClass::kDataset;
  credit.communicator = 0x0102;
  credit.offset = 0x0102'0304'0506'0708;
  list.push_back({.name = "credit",
                  .frame = credit,
                  .ranges = {},
                  .bytes = "0c 04 0201 0807060504030201",
                  .reserved = {}});
  Frame probe = credit;
  probe.kind = FrameKind::kCreditProbe;
  probe.offset = 0;
  list.push_back({.name = "credit_probe",
                  .frame = probe,
                  .ranges = {},
                  .bytes = "0d 04 0201",
                  .reserved = {}});
  Frame refuse = frame_of(FrameKind::kRefuse);
  refuse.traffic_class = TrafficClass::kGradient;
  refuse.code = Errc::kNotHeld;
  refuse.number = 0x1005;
  refuse.token = 0x1122'3344;
  list.push_back({.name = "refuse",
                  .frame = refuse,
                  .ranges = {},
                  .bytes = "0e 02 1f00 05100000 44332211",
                  .reserved = {}});
  Frame cancel = refuse;
  cancel.kind = FrameKind::kCancel;
  cancel.code = Errc::kCancelled;
  cancel.token = 0;
  list.push_back({.name = "cancel",
                  .frame = cancel,
                  .ranges = {},
                  .bytes = "0f 02 1400 05100000",
                  .reserved = {}});
}

void add_connection(std::vector<Sample>& list) {
  Frame abort = frame_of(FrameKind::kAbort);
  abort.communicator = 0x0102;
  abort.code = Errc::kAborted;
  abort.tag = 7;
  abort.token = 0x1122'3344;
  abort.digest = 0x99aa'bbcc;
  abort.number = 0x0102'0304;
  list.push_back({.name = "abort",
                  .frame = abort,
                  .ranges = {},
                  .bytes = "10 00 0201 1d00 0000 07000000 44332211 ccbbaa99 04030201",
                  .reserved = {{1}, {6}, {7}}});
  Frame close = frame_of(FrameKind::kClose);
  close.code = Errc::kPeerClosed;
  list.push_back(
      {.name = "close", .frame = close, .ranges = {}, .bytes = "11 00 1c00", .reserved = {{1}}});
  Frame probe = frame_of(FrameKind::kPathProbe);
  probe.flags = 3;
  probe.offset = 0x0102'0304'0506'0708;
  list.push_back({.name = "path_probe",
                  .frame = probe,
                  .ranges = {},
                  .bytes = "12 03 0000 0807060504030201",
                  .reserved = {{2}, {3}}});
  Frame response = probe;
  response.kind = FrameKind::kPathResponse;
  list.push_back({.name = "path_response",
                  .frame = response,
                  .ranges = {},
                  .bytes = "13 03 0000 0807060504030201",
                  .reserved = {{2}, {3}}});
}

void add_acks(std::vector<Sample>& list) {
  Frame ack = frame_of(FrameKind::kAck);
  ack.flags = 3;
  ack.tag = 250;
  ack.digest = 0x99aa'bbcc;
  ack.number = 0x5'0000'0100;
  ack.peer_token = 3;
  list.push_back({.name = "ack",
                  .frame = ack,
                  .ranges = {{.first = 0x5'0000'00f0, .last = 0x5'0000'0100},
                             {.first = 0x5'0000'0080, .last = 0x5'0000'00e0},
                             {.first = 0x5'0000'0010, .last = 0x5'0000'0010}},
                  .bytes = "01 03 03 00 00010000 fa000000 ccbbaa99 10000000"
                           "0e000000 60000000 6e000000 00000000",
                  .reserved = {{3}}});
  ack.peer_token = 1;
  ack.number = 0;
  list.push_back({.name = "ack_of_first_packet",
                  .frame = ack,
                  .ranges = {{.first = 0, .last = 0}},
                  .bytes = "01 03 01 00 00000000 fa000000 ccbbaa99 00000000",
                  .reserved = {{3}}});
  Frame padding = frame_of(FrameKind::kPadding);
  padding.length = 4;
  list.push_back({.name = "padding",
                  .frame = padding,
                  .ranges = {},
                  .bytes = "00000000",
                  .reserved = {{1}, {2}, {3}}});
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> list;
  add_messages(list);
  add_accesses(list);
  add_flow_control(list);
  add_connection(list);
  add_acks(list);
  return list;
}

const Sample& sample_of(FrameKind kind) {
  static const std::vector<Sample> list = samples();
  for (const Sample& sample : list) {
    if (sample.frame.kind == kind) return sample;
  }
  ZHINU_ASSERT(kind == FrameKind::kPadding);
  return list.back();
}

Header sample_header() {
  return Header{.traffic_class = TrafficClass::kGradient,
                .key_phase = true,
                .path = 3,
                .connection = 0x0102'0304'0506'0708,
                .number = 0x5566'7788'1122'3344,
                .message_base = kSampleBase};
}

std::string sample_header_bytes(std::size_t packet_bytes) {
  std::array<std::byte, 2> length{};
  store_le(length.data(), static_cast<std::uint16_t>(packet_bytes));
  return "c203" + to_hex(length) + "44332211" + "0807060504030201" + "00100000" +
         std::string(2 * kTagBytes, '0');
}

Packet packet_of(const std::vector<Sample>& frames) {
  Packet packet;
  packet.header = sample_header();
  for (const Sample& sample : frames) {
    Frame& frame = packet.add(sample.frame.kind);
    frame = sample.frame;
    if (frame.kind == FrameKind::kAck) frame.token = packet.ack_range_count;
    for (const AckRange& range : sample.ranges) {
      packet.ack_ranges[packet.ack_range_count++] = range;
    }
  }
  return packet;
}

std::vector<std::byte> from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string digits;
  for (const char c : text) {
    if (c != ' ') digits += c;
  }
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
  }
  return bytes;
}

std::string to_hex(ByteSpan bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte) / 16];
    text += kDigits[std::to_integer<std::size_t>(byte) % 16];
  }
  return text;
}

}  // namespace zhinu::wire::test

#include "core/dispatcher.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Datagram;
using test::engine_options;
using test::Link;

// A link that is up and has a message of side 0 on its way: `packet` was not delivered.
class Dispatch : public testing::Test {
 protected:
  Dispatch() {
    link.connect();
    packet = next_packet();
  }
  Datagram next_packet() {
    EXPECT_TRUE(link[0].send(link.now, link.send_args(data)).ok());
    auto datagrams = link.collect(0);
    EXPECT_EQ(datagrams.size(), 1U);
    return datagrams[0];
  }
  // A packet of side 0 with a tag that fits under CRC.
  std::vector<std::byte> sealed(const wire::Header& header, const wire::Frame& frame) {
    auto built = std::make_unique<wire::Packet>();
    built->header = header;
    built->add(frame.kind) = frame;
    std::vector<std::byte> bytes(wire::kPacketBytesMax);
    const auto encoded = wire::encode(*built, bytes, SIZE_MAX);
    EXPECT_TRUE(encoded.ok());
    bytes.resize(encoded.value().head_bytes);
    const Sealer sealer(Instant{}, SealMode::kCrc32c, {}, true, {});
    sealer.seal(bytes, {}, header.path, header.number, false);
    return bytes;
  }
  wire::Header header_after(std::uint64_t distance, std::uint8_t path = 0) const {
    wire::Header header = packet.header;
    header.number += distance;
    header.path = path;
    return header;
  }
  std::uint64_t drops() const {
    std::uint64_t sum = 0;
    for (auto i = static_cast<std::size_t>(Counter::kDropTruncated); i < kCounters; ++i) {
      sum += link.count(1, static_cast<Counter>(i));
    }
    return sum;
  }
  // The drop is told, counted once under its reason, and the session goes on.
  void expect_dropped(ByteSpan bytes, Errc code) {
    const std::uint64_t all = drops();
    const std::uint64_t before = link.count(1, drop_counter(code));
    EXPECT_EQ(link.inject(1, bytes).error(), code);
    EXPECT_EQ(link.count(1, drop_counter(code)), before + 1);
    EXPECT_EQ(drops(), all + 1);
    EXPECT_TRUE(link[1].peer_is_up(Link::kPeer));
  }

  Link link;
  std::vector<std::byte> data = test::sample_packet(300);
  Datagram packet;
};

TEST_F(Dispatch, handle_datagram__several_packets_in_one_buffer) {
  const Datagram second = next_packet();
  std::vector<std::byte> both = packet.bytes;
  both.insert(both.end(), second.bytes.begin(), second.bytes.end());
  const std::uint64_t packets = link.count(1, Counter::kPacketsReceived);
  const std::uint64_t bytes = link.count(1, Counter::kBytesReceived);
  EXPECT_TRUE(link.inject(1, both).ok());
  EXPECT_EQ(link.count(1, Counter::kPacketsReceived), packets + 2);
  EXPECT_EQ(link.count(1, Counter::kBytesReceived), bytes + both.size());
  std::vector<std::byte> buffer(300);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
    EXPECT_EQ(buffer, data);
  }
  EXPECT_EQ(link.completions(1).size(), 2U);
}

TEST_F(Dispatch, handle_datagram__a_bad_packet_does_not_hide_the_next) {
  const Datagram second = next_packet();
  std::vector<std::byte> both = packet.bytes;
  both.back() ^= std::byte{1};
  both.insert(both.end(), second.bytes.begin(), second.bytes.end());
  EXPECT_EQ(link.inject(1, both).error(), Errc::kBadTag);
  EXPECT_EQ(link.inject(1, second.bytes).error(), Errc::kReplayed);
  EXPECT_TRUE(link.inject(1, packet.bytes).ok());
}

TEST_F(Dispatch, handle_datagram__truncated) {
  const ByteSpan bytes(packet.bytes);
  for (std::size_t size = 1; size < bytes.size(); size += 7) {
    const Status status = link.inject(1, bytes.first(size));
    EXPECT_EQ(status.error(), Errc::kTruncatedPacket) << size;
  }
  EXPECT_TRUE(link.inject(1, bytes.first(0)).ok());
  EXPECT_TRUE(link.inject(1, bytes).ok());
}

TEST_F(Dispatch, handle_datagram__truncated_is_counted) {
  expect_dropped(ByteSpan(packet.bytes).first(packet.bytes.size() - 1), Errc::kTruncatedPacket);
}

TEST_F(Dispatch, handle_datagram__replayed) {
  ASSERT_TRUE(link.inject(1, packet.bytes).ok());
  expect_dropped(packet.bytes, Errc::kReplayed);
}

TEST_F(Dispatch, handle_datagram__too_old) {
  wire::Frame probe;
  probe.kind = wire::FrameKind::kPathProbe;
  ASSERT_TRUE(link.inject(1, sealed(header_after(InPath::kWindowPackets), probe)).ok());
  expect_dropped(packet.bytes, Errc::kTooOld);
}

TEST_F(Dispatch, handle_datagram__wrong_tag_anywhere) {
  for (std::size_t at = wire::kTagOffset; at < packet.bytes.size(); at += 29) {
    std::vector<std::byte> bytes = packet.bytes;
    bytes[at] ^= std::byte{0x10};
    expect_dropped(bytes, Errc::kBadTag);
  }
  EXPECT_TRUE(link.inject(1, packet.bytes).ok());
}

TEST_F(Dispatch, handle_datagram__unknown_connection) {
  wire::Header header = packet.header;
  header.connection ^= 1;
  wire::Frame probe;
  probe.kind = wire::FrameKind::kPathProbe;
  expect_dropped(sealed(header, probe), Errc::kUnknownConnection);
}

TEST_F(Dispatch, handle_datagram__path_beyond_those_of_the_peer) {
  wire::Frame probe;
  probe.kind = wire::FrameKind::kPathProbe;
  const auto paths = static_cast<std::uint8_t>(engine_options().paths_max);
  expect_dropped(sealed(header_after(0, paths), probe), Errc::kBadPath);
  EXPECT_TRUE(link.inject(1, sealed(header_after(0, paths - 1), probe)).ok());
}

// Only a tag that fits makes a path.
TEST_F(Dispatch, handle_datagram__first_packets_of_more_paths_than_there_is_room_for) {
  for (std::uint32_t side = 0; side < 2; ++side) {
    link.options(side).in_paths_max = 1;
    link.start(side);
  }
  link.connect();
  packet = next_packet();  // of the path that was heard with the session
  wire::Frame probe;
  probe.kind = wire::FrameKind::kPathProbe;
  std::vector<std::byte> forged = sealed(header_after(0, 1), probe);
  forged.back() ^= std::byte{1};
  expect_dropped(forged, Errc::kBadTag);
  EXPECT_TRUE(link.inject(1, sealed(header_after(0, 2), probe)).ok());
  expect_dropped(sealed(header_after(0, 1), probe), Errc::kFull);
  expect_dropped(sealed(header_after(0, 2), probe), Errc::kReplayed);
  EXPECT_TRUE(link.inject(1, sealed(header_after(1, 2), probe)).ok());
  EXPECT_TRUE(link.inject(1, packet.bytes).ok());
}

TEST_F(Dispatch, handle_datagram__rubbish_is_no_packet) {
  std::vector<std::byte> bytes(200, std::byte{0xff});
  const std::uint64_t all = drops();
  EXPECT_FALSE(link.inject(1, bytes).ok());
  EXPECT_EQ(drops(), all + 1);
}

TEST_F(Dispatch, handle_frames__ack_of_what_was_never_sent_closes) {
  // An ACK frame without ranges of its own cannot be built here: one range, far ahead.
  auto built = std::make_unique<wire::Packet>();
  built->header = header_after(0);
  wire::Frame& frame = built->add(wire::FrameKind::kAck);
  frame.number = 1'000'000;
  frame.peer_token = 1;
  built->ack_ranges[0] = {1'000'000, 1'000'000};
  built->ack_range_count = 1;
  std::vector<std::byte> bytes(wire::kPacketBytesMax);
  const auto encoded = wire::encode(*built, bytes, SIZE_MAX);
  ASSERT_TRUE(encoded.ok());
  bytes.resize(encoded.value().head_bytes);
  const Sealer sealer(Instant{}, SealMode::kCrc32c, {}, true, {});
  sealer.seal(bytes, {}, 0, built->header.number, false);
  EXPECT_EQ(link.inject(1, bytes).error(), Errc::kProtocolViolation);
  EXPECT_EQ(link.count(1, Counter::kDropBadAck), 1U);
  link.settle();  // the other side hears the close
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_FALSE(link[side].peer_is_up(Link::kPeer));
    EXPECT_EQ(link.events(side).back().code, Errc::kProtocolViolation);
  }
}

TEST_F(Dispatch, handle_frame__flow_frames_of_the_control_class_close) {
  wire::Frame credit;
  credit.kind = wire::FrameKind::kCredit;
  credit.communicator = test::kWorldCommunicator.value;
  credit.traffic_class = TrafficClass::kControl;
  EXPECT_EQ(link.inject(1, sealed(header_after(0), credit)).error(), Errc::kProtocolViolation);
  EXPECT_EQ(link.count(1, Counter::kDropBadFrame), 1U);
  EXPECT_FALSE(link[1].peer_is_up(Link::kPeer));
}

// A token that means "none" could not be told from that of a packet that is refused.
TEST_F(Dispatch, handle_frame__announcements_without_a_token_close) {
  for (const wire::FrameKind kind :
       {wire::FrameKind::kAnnounce, wire::FrameKind::kWrite, wire::FrameKind::kReadAnnounce}) {
    Link other;
    other.connect();
    EXPECT_TRUE(other[0].send(other.now, other.send_args(data)).ok());
    wire::Frame frame;
    frame.kind = kind;
    frame.number = 0;
    frame.length = 100'000;
    frame.token = kNoSlot - (kRefusedRunMax - 1);  // the least that means none
    wire::Header header = other.collect(0)[0].header;
    header.message_base = 0;
    EXPECT_EQ(other.inject(1, sealed(header, frame)).error(), Errc::kProtocolViolation);
    EXPECT_EQ(other.count(1, Counter::kDropBadFrame), 1U);
    EXPECT_FALSE(other[1].peer_is_up(Link::kPeer));
  }
}

TEST_F(Dispatch, heard__another_address_is_probed_and_counted) {
  ASSERT_TRUE(link.inject(1, packet.bytes).ok());
  link.settle();
  const Datagram second = next_packet();
  Arrival arrival;
  arrival.from = test::address_of(55);
  ASSERT_TRUE(link[1].handle_datagram(link.now, arrival, second.bytes).ok());
  EXPECT_EQ(link.count(1, Counter::kAddressChanges), 1U);
  const auto status = link[1].path_status(Link::kPeer, 0);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status.value().config.remote, test::address_of(55));
}

TEST_F(Dispatch, heard__an_older_packet_left_before_the_move) {
  const Datagram second = next_packet();
  ASSERT_TRUE(link.inject(1, second.bytes).ok());
  Arrival arrival;
  arrival.from = test::address_of(55);
  ASSERT_TRUE(link[1].handle_datagram(link.now, arrival, packet.bytes).ok());
  EXPECT_EQ(link.count(1, Counter::kAddressChanges), 0U);
  EXPECT_EQ(link[1].path_status(Link::kPeer, 0).value().config.remote,
            test::address_of(Link::host(0)));
}

TEST_F(Dispatch, handle_datagram__ecn_marks_are_counted_for_the_sender) {
  Arrival arrival;
  arrival.from = test::address_of(Link::host(0));
  arrival.ecn_marked = true;
  ASSERT_TRUE(link[1].handle_datagram(link.now, arrival, packet.bytes).ok());
  const auto answers = link.collect(1);  // at once, without waiting for data
  ASSERT_EQ(answers.size(), 1U);
}

}  // namespace
}  // namespace zhinu::core

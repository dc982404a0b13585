#include "core/packet_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace zhinu::core {
namespace {

using wire::FrameKind;

wire::Frame message(std::uint64_t number) {
  return {.kind = FrameKind::kMessage, .number = number};
}

class PacketBuilderTest : public testing::Test {
 protected:
  PacketBuilder builder(std::uint32_t limit = 1'280) { return {*packet_, sent_, limit}; }

  std::unique_ptr<wire::Packet> packet_ = std::make_unique<wire::Packet>();
  SentPacket sent_;
};

TEST_F(PacketBuilderTest, constructor__clears_what_was_there) {
  packet_->add(FrameKind::kAck);
  packet_->ack_range_count = 3;
  sent_.item_count = 2;
  PacketBuilder fresh = builder(100);
  EXPECT_TRUE(fresh.empty());
  EXPECT_FALSE(fresh.has_items());
  EXPECT_EQ(fresh.packet().ack_range_count, 0U);
  EXPECT_EQ(fresh.limit(), 100U);
  EXPECT_EQ(fresh.bytes(), 36U);
  EXPECT_EQ(fresh.room(), 64U);
}

TEST_F(PacketBuilderTest, add__counts_bytes) {
  PacketBuilder packet = builder();
  packet.add(FrameKind::kAck, 20);
  packet.add(FrameKind::kClose, 4);
  packet.add(FrameKind::kGrant, 20);
  EXPECT_EQ(packet.bytes(), 36U + 44U);
}

TEST_F(PacketBuilderTest, fits__room_frames_items_and_closed) {
  PacketBuilder packet = builder(136);
  EXPECT_TRUE(packet.fits(100));
  EXPECT_FALSE(packet.fits(101));
  EXPECT_DEATH(packet.add(FrameKind::kMessage, 101), "bytes <= room");
  for (std::uint32_t i = 0; i < kSentItemsMax; ++i) packet.add_item(SentKind::kGrant, i);
  EXPECT_FALSE(packet.fits(1));
  EXPECT_FALSE(packet.fits_message(1));  // no chain to join
  EXPECT_DEATH(packet.add_item(SentKind::kGrant, 9), "item_count < kSentItemsMax");
  PacketBuilder full = builder(60'000);
  for (std::size_t i = 0; i < wire::kFramesMax; ++i) full.add(FrameKind::kMessage, 1);
  EXPECT_FALSE(full.fits(1));
  EXPECT_FALSE(full.fits_message(1));
  PacketBuilder closed = builder();
  closed.close();
  EXPECT_FALSE(closed.fits(1));
  EXPECT_FALSE(closed.fits_message(1));
}

TEST_F(PacketBuilderTest, fits_number__from_the_first_number_to_its_delta) {
  PacketBuilder packet = builder();
  EXPECT_TRUE(packet.fits_number(5));
  packet.add_message(1'000, 12) = message(1'000);
  EXPECT_EQ(packet.packet().frames[0].number, 1'000U);
  EXPECT_EQ(packet.packet().header.message_base, 1'000U);
  EXPECT_FALSE(packet.fits_number(999));
  EXPECT_TRUE(packet.fits_number(1'000 + wire::kMessageDeltaMax));
  EXPECT_FALSE(packet.fits_number(1'001 + wire::kMessageDeltaMax));
  packet.add_message(1'255, 12);
  EXPECT_EQ(packet.packet().header.message_base, 1'000U);
  packet.add_message(999, 12) = message(999);
  std::array<std::byte, 200> out{};
  EXPECT_EQ(wire::encode(packet.packet(), out, SIZE_MAX).error(), Errc::kInvalidArgument);
}

TEST_F(PacketBuilderTest, chain__only_the_last_item_grows) {
  PacketBuilder packet = builder();
  std::array<SendRecord, 4> records;
  packet.chain(3, records[0]);
  packet.chain(8, records[1]);
  EXPECT_EQ(sent_.item_count, 1U);
  EXPECT_EQ(sent_.items[0].slot, 3U);
  EXPECT_EQ(sent_.items[0].length, 2U);
  EXPECT_EQ(records[0].next, 8U);
  EXPECT_EQ(records[1].next, kNoSlot);
  packet.add_item(SentKind::kAnnounce, 4);
  packet.chain(6, records[2]);
  EXPECT_EQ(records[1].next, kNoSlot);
  EXPECT_EQ(sent_.items[2].slot, 6U);
  packet.add_item(SentKind::kGrant, 5);
  EXPECT_FALSE(packet.fits_message(12));  // a new chain would need an item
}

TEST_F(PacketBuilderTest, fits_message__a_chain_grows_without_an_item) {
  PacketBuilder packet = builder();
  SendRecord record;
  packet.add_item(SentKind::kGrant, 1);
  packet.add_item(SentKind::kGrant, 2);
  packet.add_item(SentKind::kGrant, 3);
  packet.chain(6, record);
  EXPECT_TRUE(packet.fits_message(12));
  EXPECT_FALSE(packet.fits(12));
}

}  // namespace
}  // namespace zhinu::core

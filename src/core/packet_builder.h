// One packet while it is filled: room, frames, and what to remember of it.
//
// Internal to src/core. The assembler opens it on a path, the modules add frames
// and items, the assembler closes it. Thread rule: the endpoint's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/records.h"
#include "wire/codec.h"
#include "wire/packet.h"

namespace zhinu::core {

class PacketBuilder {
 public:
  PacketBuilder(wire::Packet& packet, SentPacket& sent, std::uint32_t limit_bytes)
      : packet_(packet), sent_(sent), limit_(limit_bytes) {
    packet_.clear();
    sent_.item_count = 0;
  }

  std::uint32_t bytes() const { return bytes_; }
  std::uint32_t limit() const { return limit_; }
  // Bytes that still fit, frames included.
  std::uint32_t room() const { return limit_ - bytes_; }
  // Nothing may be added any more.
  void close() { limit_ = bytes_; }
  bool empty() const { return packet_.frame_count == 0; }
  bool has_items() const { return sent_.item_count > 0; }

  // True if a frame of `bytes`, payload included, and one more item fit.
  bool fits(std::size_t bytes) const {
    return bytes <= room() && packet_.has_room() && sent_.item_count < kSentItemsMax;
  }
  // True if message `number` can be expressed beside the messages already here.
  bool fits_number(std::uint64_t number) const {
    return number - base_ <= delta_max_;  // a smaller number wraps around to a large distance
  }

  // A frame whose size the caller checked with fits(). `bytes` includes its payload.
  wire::Frame& add(wire::FrameKind kind, std::size_t bytes) {
    ZHINU_ASSERT(bytes <= room());
    bytes_ += static_cast<std::uint32_t>(bytes);
    return packet_.add(kind);
  }
  // A place for the frame of message `number`, which the caller assigns whole. The caller checked
  // with fits_number(); the encoder refuses a number that does not fit.
  wire::Frame& add_message(std::uint64_t number, std::size_t bytes) {
    if (delta_max_ != wire::kMessageDeltaMax) {
      delta_max_ = wire::kMessageDeltaMax;
      packet_.header.message_base = base_ = number;
    }
    ZHINU_ASSERT(bytes <= room());
    bytes_ += static_cast<std::uint32_t>(bytes);
    return packet_.add();
  }
  SentItem& add_item(SentKind kind, std::uint32_t slot) {
    ZHINU_ASSERT(sent_.item_count < kSentItemsMax);
    SentItem& item = sent_.items[sent_.item_count++];
    item = SentItem{};
    item.kind = kind;
    item.slot = slot;
    chain_tail_ = nullptr;
    return item;
  }
  // True if fits() is, or if only an item is missing and a chain of messages can grow.
  bool fits_message(std::size_t bytes) const {
    return bytes <= room() && packet_.has_room() &&
           (chain_tail_ != nullptr || sent_.item_count < kSentItemsMax);
  }
  // Remembers a whole message: in the chain of those just before it, or in a new one.
  void chain(std::uint32_t slot, SendRecord& record) {
    if (chain_tail_ != nullptr) {
      chain_tail_->next = slot;
      ++sent_.items[sent_.item_count - 1].length;
    } else {
      add_item(SentKind::kMessages, slot).length = 1;
    }
    record.next = kNoSlot;
    chain_tail_ = &record;
  }

  wire::Packet& packet() { return packet_; }

 private:
  wire::Packet& packet_;
  SentPacket& sent_;
  std::uint32_t limit_ = 0;
  std::uint32_t bytes_ = wire::kFramesOffset;
  SendRecord* chain_tail_ = nullptr;  // last record of a chain that can grow
  // Of the first message; with none yet, every number fits.
  std::uint64_t base_ = 0;
  std::uint64_t delta_max_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace zhinu::core

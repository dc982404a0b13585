// Datagrams on their way: bytes and route, from slabs that grow and are reused.
//
// Three sizes of buffer, so that an ACK does not occupy a jumbo frame. In a steady
// state nothing is allocated. Ids stay valid until released; references do too.
// Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "sim/net/address.h"
#include "wire/packet.h"

namespace zhinu::sim {

using PacketId = Id<struct PacketTag>;

inline constexpr std::size_t kHopsMax = 4;  // host up, leaf up, leaf down, host down

struct Datagram {
  std::byte* bytes = nullptr;  // owned by the pool
  std::uint32_t size = 0;
  PacketId next;  // in the queue of a clogged link or of a paused node
  NicAddress from;
  NicAddress to;
  std::array<std::uint32_t, kHopsMax> route{};  // links
  std::uint8_t hop = 0;                         // index of the next link
  std::uint8_t hops = 0;
  bool ecn_marked = false;
  std::uint8_t buffer_class = 0;  // the pool's

  ByteSpan span() const { return {bytes, size}; }
};

class PacketPool {
 public:
  // Packets in flight at the same time; a run that needs more is wrong.
  static constexpr std::size_t kDatagramsMax = 1U << 20;

  // A datagram of `size` bytes whose contents are undefined. size <= kPacketBytesMax.
  PacketId acquire(std::size_t size);
  void release(PacketId id);

  Datagram& operator[](PacketId id) {
    ZHINU_ASSERT(id.value < count_);
    return slabs_[id.value / kSlab][id.value % kSlab];
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kSlab = 64;
  static constexpr std::array<std::size_t, 4> kBufferBytes = {256, 2'048, 9'472,
                                                              wire::kPacketBytesMax + 1};

  void grow(std::size_t buffer_class);

  std::vector<std::unique_ptr<Datagram[]>> slabs_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::array<PacketId, kBufferBytes.size()> free_{};
  std::size_t count_ = 0;
  std::size_t used_ = 0;
};

}  // namespace zhinu::sim

#include "sim/net/packet_pool.h"

namespace zhinu::sim {

PacketId PacketPool::acquire(std::size_t size) {
  std::size_t buffer_class = 0;
  while (kBufferBytes[buffer_class] < size) {
    ++buffer_class;
    ZHINU_ASSERT(buffer_class < kBufferBytes.size());
  }
  if (free_[buffer_class].is_none()) grow(buffer_class);
  const PacketId id = free_[buffer_class];
  Datagram& datagram = (*this)[id];
  free_[buffer_class] = datagram.next;
  std::byte* const bytes = datagram.bytes;
  datagram = Datagram{};
  datagram.bytes = bytes;
  datagram.size = static_cast<std::uint32_t>(size);
  datagram.buffer_class = static_cast<std::uint8_t>(buffer_class);
  ++used_;
  return id;
}

void PacketPool::release(PacketId id) {
  Datagram& datagram = (*this)[id];
  ZHINU_ASSERT(used_ > 0);
  datagram.next = free_[datagram.buffer_class];
  free_[datagram.buffer_class] = id;
  --used_;
}

void PacketPool::grow(std::size_t buffer_class) {
  ZHINU_ASSERT(count_ + kSlab <= kDatagramsMax);
  const std::size_t bytes = kBufferBytes[buffer_class];
  slabs_.push_back(std::make_unique<Datagram[]>(kSlab));
  buffers_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes * kSlab));
  // Pushed from the last to the first, so that ids are handed out in ascending order.
  for (std::size_t i = kSlab; i-- > 0;) {
    Datagram& datagram = slabs_.back()[i];
    datagram.bytes = buffers_.back().get() + i * bytes;
    datagram.buffer_class = static_cast<std::uint8_t>(buffer_class);
    datagram.next = free_[buffer_class];
    free_[buffer_class] = PacketId{static_cast<std::uint32_t>(count_ + i)};
  }
  count_ += kSlab;
}

}  // namespace zhinu::sim

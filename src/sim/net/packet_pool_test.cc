#include "sim/net/packet_pool.h"

#include <gtest/gtest.h>

namespace zhinu::sim {
namespace {

TEST(PacketPool, acquire__buffer_holds_the_size_and_is_reused) {
  PacketPool pool;
  const PacketId a = pool.acquire(100);
  std::byte* const bytes = pool[a].bytes;
  EXPECT_EQ(pool[a].size, 100U);
  EXPECT_EQ(pool.used(), 1U);
  pool.release(a);
  const PacketId b = pool.acquire(200);
  EXPECT_EQ(pool[b].bytes, bytes);
  EXPECT_EQ(pool.used(), 1U);
}

TEST(PacketPool, acquire__references_stay_valid_while_the_pool_grows) {
  PacketPool pool;
  const PacketId first = pool.acquire(9'000);
  Datagram& datagram = pool[first];
  datagram.bytes[8'999] = std::byte{42};
  for (int i = 0; i < 1'000; ++i) pool.acquire(9'000);
  EXPECT_EQ(&datagram, &pool[first]);
  EXPECT_EQ(datagram.bytes[8'999], std::byte{42});
}

TEST(PacketPool, acquire__largest_datagram) {
  PacketPool pool;
  EXPECT_EQ(pool[pool.acquire(wire::kPacketBytesMax)].size, wire::kPacketBytesMax);
}

}  // namespace
}  // namespace zhinu::sim

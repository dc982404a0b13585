#include "sim/net/fabric.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace zhinu::sim {
namespace {

constexpr Instant kStart = Instant{} + seconds(1);

FabricOptions options() {
  FabricOptions fabric;
  fabric.nodes = 4;
  fabric.nics = 2;
  fabric.nodes_per_pod = 2;
  fabric.spines = 4;
  return fabric;
}

struct Harness {
  explicit Harness(const FabricOptions& fabric_options) : fabric(fabric_options, queue) {}

  void send(std::uint32_t from, std::uint32_t to, std::uint16_t key, std::uint8_t first_byte) {
    const std::vector<std::byte> head(20, std::byte{first_byte});
    const std::vector<std::byte> tail(80, std::byte{0xee});
    fabric.send(now, {from, 0, 0}, {to, 0, 0}, key, head, tail);
  }

  // Runs out the queue; returns the first bytes of what arrived, in order.
  std::vector<int> run() {
    std::vector<int> arrived;
    while (!queue.empty()) {
      const Event event = queue.pop();
      now = event.at;
      const PacketId id{static_cast<std::uint32_t>(event.value)};
      if (event.kind == static_cast<std::uint32_t>(FabricEvent::kHop)) {
        fabric.hop(now, id);
        continue;
      }
      EXPECT_EQ(event.entity, fabric.pool()[id].to.node);
      EXPECT_EQ(fabric.pool()[id].size, 100U);
      arrived.push_back(std::to_integer<int>(fabric.pool()[id].bytes[0]));
      fabric.pool().release(id);
    }
    return arrived;
  }

  EventQueue queue;
  Fabric fabric;
  Instant now = kStart;
};

TEST(Fabric, send__two_links_within_a_leaf_four_over_a_spine) {
  Harness harness(options());
  harness.send(0, 1, 7, 1);
  EXPECT_EQ(harness.run(), std::vector<int>{1});
  EXPECT_EQ(harness.fabric.total().forwarded, 2U);
  harness.send(0, 2, 7, 2);
  EXPECT_EQ(harness.run(), std::vector<int>{2});
  EXPECT_EQ(harness.fabric.total().forwarded, 6U);
  EXPECT_EQ(harness.fabric.pool().used(), 0U);
}

TEST(Fabric, spine_of__keys_spread_over_all_spines_and_stay_on_theirs) {
  const Harness harness(options());
  std::set<std::uint32_t> spines;
  for (std::uint16_t key = 0; key < 64; ++key) {
    const std::uint32_t spine = harness.fabric.spine_of({0, 0, 0}, {2, 0, 0}, key);
    spines.insert(spine);
    EXPECT_EQ(spine, harness.fabric.spine_of({0, 0, 0}, {2, 0, 0}, key));
  }
  EXPECT_EQ(spines.size(), 4U);
}

TEST(Fabric, link_name__every_link_is_found_by_its_name) {
  const Harness harness(options());
  std::set<std::string> names;
  for (std::uint32_t link = 0; link < harness.fabric.link_count(); ++link) {
    names.insert(harness.fabric.link_name(link));
    EXPECT_EQ(harness.fabric.find_link(harness.fabric.link_name(link)), link);
  }
  EXPECT_EQ(names.size(), harness.fabric.link_count());
  EXPECT_EQ(harness.fabric.find_link("n3:1>"), harness.fabric.host_up(3, 1));
  EXPECT_EQ(harness.fabric.find_link("n0:0<"), harness.fabric.host_down(0, 0));
  EXPECT_EQ(harness.fabric.find_link("l2:s1>"), harness.fabric.leaf_up(2, 1));
  EXPECT_FALSE(harness.fabric.find_link("l2:s9>").has_value());
}

TEST(Fabric, set_faults__clogged_packets_move_on_in_order_when_the_clog_ends) {
  Harness harness(options());
  LinkFaults faults;
  faults.clogged = true;
  harness.fabric.set_faults(kStart, harness.fabric.host_down(1, 0), faults);
  for (std::uint8_t i = 1; i <= 5; ++i) harness.send(0, 1, 7, i);
  EXPECT_TRUE(harness.run().empty());
  EXPECT_EQ(harness.fabric.pool().used(), 5U);
  harness.fabric.set_faults(harness.now, harness.fabric.host_down(1, 0), {});
  EXPECT_EQ(harness.run(), (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Fabric, set_faults__one_direction_only) {
  Harness harness(options());
  LinkFaults faults;
  faults.cut = true;
  harness.fabric.set_faults(kStart, harness.fabric.host_up(0, 0), faults);
  harness.send(0, 1, 7, 1);
  harness.send(1, 0, 7, 2);
  EXPECT_EQ(harness.run(), std::vector<int>{2});
}

TEST(Fabric, send__duplicates_arrive_as_whole_packets) {
  Harness harness(options());
  LinkFaults faults;
  faults.duplicate_ppm = 1'000'000;
  harness.fabric.set_faults(kStart, harness.fabric.host_up(0, 0), faults);
  harness.send(0, 2, 7, 9);
  EXPECT_EQ(harness.run(), (std::vector<int>{9, 9}));
  EXPECT_EQ(harness.fabric.pool().used(), 0U);
}

TEST(Fabric, block__drops_one_direction_until_as_many_unblocks) {
  Harness harness(options());
  harness.fabric.block(0, 1);
  harness.fabric.block(0, 1);
  harness.send(0, 1, 7, 1);
  harness.send(1, 0, 7, 2);
  EXPECT_EQ(harness.run(), std::vector<int>{2});
  harness.fabric.unblock(0, 1);
  harness.send(0, 1, 7, 3);
  EXPECT_TRUE(harness.run().empty());
  harness.fabric.unblock(0, 1);
  harness.send(0, 1, 7, 4);
  EXPECT_EQ(harness.run(), std::vector<int>{4});
  EXPECT_EQ(harness.fabric.blocked_packets(), 2U);
}

TEST(Fabric, send__to_a_nic_that_does_not_exist_reaches_nobody) {
  Harness harness(options());
  harness.fabric.send(kStart, {0, 0, 0}, {99, 0, 0}, 1, std::vector<std::byte>(20), {});
  EXPECT_TRUE(harness.run().empty());
  EXPECT_EQ(harness.fabric.blocked_packets(), 1U);
}

}  // namespace
}  // namespace zhinu::sim

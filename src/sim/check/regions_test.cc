#include "sim/check/regions.h"

#include <gtest/gtest.h>

#include <optional>

#include "sim/net/node_faults.h"

namespace zhinu::sim::check {
namespace {

// Node 1 offers a writable region 0 and a readable region 1 to node 0.
class RegionsTest : public ::testing::Test {
 protected:
  RegionsTest() {
    scenario.regions.push_back({.id = 0, .node = 1, .bytes = 1'000, .writable = true});
    scenario.regions.push_back({.id = 1, .node = 1, .bytes = 500});
    add({.id = 10, .region = 0, .bytes = 100, .offset = 0, .write = true, .notify = true});
    add({.id = 11, .region = 0, .bytes = 100, .offset = 0, .write = true, .notify = true});
    add({.id = 12, .region = 1, .bytes = 50, .offset = 33});
    for (Access& access : scenario.accesses) access.ordered = access.notify;
    regions.emplace(scenario, memory, watch);
    endpoint.emplace(core::EndpointOptions{}, core::Identity{}, entropy);
    regions->register_all(1, *endpoint);
    items.resize(scenario.accesses.size());
  }
  void add(const Access& access) { scenario.accesses.push_back(access); }

  MutableByteSpan target(std::uint32_t access) {
    // Region 0 is the first buffer, region 1 the second.
    const Access& args = scenario.accesses[access];
    return memory.span(BufferId{args.region}).subspan(args.offset, args.bytes);
  }
  void arrive(std::uint32_t access) {
    const std::uint64_t key = access_content(scenario.seed, scenario.accesses[access].id);
    fill_content(key, 0, target(access));
  }
  void post(std::uint32_t access) {
    regions->on_posted(access);
    items[access].state = ItemState::kPosted;
  }
  std::optional<Streams::Wrong> complete(std::uint32_t access, Errc status = Errc::kOk) {
    items[access].state = ItemState::kDone;
    items[access].status = status;
    return regions->on_completion(access, status, {});
  }
  std::optional<Streams::Wrong> notify(std::uint32_t access) {
    core::Event event;
    event.immediate = access;
    event.offset = scenario.accesses[access].offset;
    event.bytes = scenario.accesses[access].bytes;
    event.region = regions->key(access);
    return regions->on_notification(1, 0, event, &items[access]);
  }

  Scenario scenario;
  Memory memory{10'000, 10};
  WireWatch watch{2, memory};
  SeededEntropy entropy{1, 1};
  std::optional<core::Endpoint> endpoint;
  std::optional<Regions> regions;
  std::vector<Item> items;
  History history{scenario};
};

TEST_F(RegionsTest, on_completion__a_write_whose_bytes_are_there) {
  post(0);
  arrive(0);
  EXPECT_FALSE(notify(0).has_value());
  EXPECT_FALSE(complete(0).has_value());
  EXPECT_FALSE(regions->final_check(items, history).has_value());
}

TEST_F(RegionsTest, on_completion__a_write_whose_bytes_are_not_there) {
  post(0);
  const auto wrong = complete(0);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->invariant, Invariant::kBytesRight);
}

TEST_F(RegionsTest, on_completion__a_read_at_an_odd_offset) {
  std::vector<std::byte> read(50);
  fill_content(region_content(scenario.seed, 1), 33, read);
  EXPECT_FALSE(regions->on_completion(2, Errc::kOk, read).has_value());
  read[49] ^= std::byte{1};
  EXPECT_EQ(regions->on_completion(2, Errc::kOk, read)->invariant, Invariant::kBytesRight);
  EXPECT_FALSE(regions->on_completion(2, Errc::kRegionRefused, read).has_value());
}

TEST_F(RegionsTest, slot_state__busy_until_the_write_ended_dead_if_badly) {
  EXPECT_EQ(regions->slot_state(1), Regions::SlotState::kFree);
  post(0);
  EXPECT_EQ(regions->slot_state(1), Regions::SlotState::kBusy);
  arrive(0);
  complete(0);
  // The next one would overwrite what the notification tells of.
  EXPECT_EQ(regions->slot_state(1), Regions::SlotState::kBusy);
  EXPECT_FALSE(notify(0).has_value());
  EXPECT_EQ(regions->slot_state(1), Regions::SlotState::kFree);
  post(1);
  complete(1, Errc::kCancelled);
  EXPECT_EQ(regions->slot_state(0), Regions::SlotState::kDead);
}

TEST_F(RegionsTest, on_notification__twice_early_or_for_nothing_is_wrong) {
  EXPECT_EQ(notify(0)->invariant, Invariant::kNotificationRight);  // never posted
  post(0);
  EXPECT_EQ(notify(0)->invariant, Invariant::kNotificationRight);  // the bytes are not there
  arrive(0);
  EXPECT_EQ(notify(0)->invariant, Invariant::kNotificationRight);  // a second one
  core::Event event;
  event.immediate = 99;
  EXPECT_TRUE(regions->on_notification(1, 0, event, nullptr).has_value());
}

TEST_F(RegionsTest, on_notification__ordered_ones_in_the_order_of_posting) {
  post(0);
  arrive(0);
  complete(0);
  post(1);
  arrive(1);
  EXPECT_FALSE(notify(1).has_value());
  complete(1);
  arrive(0);
  EXPECT_EQ(notify(0)->invariant, Invariant::kNotificationRight);
}

// Communicators are served in turn: there is no order between two of them.
TEST_F(RegionsTest, on_notification__ordered_ones_of_other_communicators_do_not_wait) {
  scenario.accesses[1].communicator = 1;
  post(0);
  arrive(0);
  complete(0);
  post(1);
  arrive(1);
  EXPECT_FALSE(notify(1).has_value());
  complete(1);
  arrive(0);
  EXPECT_FALSE(notify(0).has_value());
}

TEST_F(RegionsTest, final_check__a_write_that_was_never_notified) {
  post(0);
  arrive(0);
  complete(0);
  EXPECT_EQ(regions->final_check(items, history)->invariant, Invariant::kNotificationRight);
  history.on_close(0, 1);
  EXPECT_FALSE(regions->final_check(items, history).has_value());
}

TEST_F(RegionsTest, final_check__a_revoked_region_that_changes) {
  ASSERT_TRUE(regions->revoke(Instant{}, 0, *endpoint).ok());
  EXPECT_FALSE(regions->registered(0));
  EXPECT_FALSE(regions->final_check(items, history).has_value());
  target(0)[5] ^= std::byte{1};
  EXPECT_EQ(regions->final_check(items, history)->invariant, Invariant::kNothingAfterCompletion);
}

TEST_F(RegionsTest, final_check__a_slot_that_changes_after_the_completion) {
  post(0);
  arrive(0);
  EXPECT_FALSE(notify(0).has_value());
  complete(0);
  target(0)[99] ^= std::byte{1};
  EXPECT_EQ(regions->final_check(items, history)->invariant, Invariant::kNothingAfterCompletion);
}

}  // namespace
}  // namespace zhinu::sim::check

#include "core/counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace zhinu::core {
namespace {

TEST(Counters, add__one_and_many) {
  Counters counters;
  EXPECT_EQ(counters[Counter::kPacketsSent], 0U);
  counters.add(Counter::kPacketsSent);
  counters.add(Counter::kPacketsSent, 41);
  EXPECT_EQ(counters[Counter::kPacketsSent], 42U);
  EXPECT_EQ(counters[Counter::kPacketsReceived], 0U);
  counters.add(Counter::kDropEvents, 1ULL << 40);
  EXPECT_EQ(counters[Counter::kDropEvents], 1ULL << 40);
}

TEST(Counters, name_of__each_has_its_own_in_snake_case) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::string name = name_of(static_cast<Counter>(i));
    ASSERT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

// The table is in the order of the enumeration: its ends and the borders of its parts.
TEST(Counters, name_of__matches_the_enumerator) {
  EXPECT_STREQ(name_of(Counter::kPacketsSent), "packets_sent");
  EXPECT_STREQ(name_of(Counter::kProbeTimeouts), "probe_timeouts");
  EXPECT_STREQ(name_of(Counter::kEagerNotHeld), "eager_not_held");
  EXPECT_STREQ(name_of(Counter::kAddressChanges), "address_changes");
  EXPECT_STREQ(name_of(Counter::kDropTruncated), "drop_truncated");
  EXPECT_STREQ(name_of(Counter::kDropBadTag), "drop_bad_tag");
  EXPECT_STREQ(name_of(Counter::kDropNoRoom), "drop_no_room");
  EXPECT_STREQ(name_of(Counter::kDropEvents), "drop_events");
}

TEST(CountersDeathTest, name_of__no_counter) { EXPECT_DEATH(name_of(Counter::kCount), "kCount"); }

}  // namespace
}  // namespace zhinu::core

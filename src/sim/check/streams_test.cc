#include "sim/check/streams.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/check/content.h"

namespace zhinu::sim::check {
namespace {

Message message(std::uint32_t id, std::uint64_t bytes = 100) {
  Message m;
  m.id = id;
  m.from = 0;
  m.to = 1;
  m.tag = 5;
  m.bytes = bytes;
  m.receive_bytes = bytes;
  return m;
}

std::vector<std::byte> contents(const Scenario& scenario, std::uint32_t index) {
  std::vector<std::byte> bytes(scenario.messages[index].bytes);
  fill_content(content_key(scenario.seed, scenario.messages[index].id), 0, bytes);
  return bytes;
}

class StreamsTest : public ::testing::Test {
 protected:
  void add(const Message& m) { scenario.messages.push_back(m); }
  void post_all(Streams& streams) const {
    for (std::uint32_t i = 0; i < scenario.messages.size(); ++i) streams.on_send_posted(i);
  }
  Scenario scenario;
};

TEST_F(StreamsTest, on_delivery__in_order_is_right) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  EXPECT_FALSE(streams.on_delivery(0, 1, 0, 5, contents(scenario, 0)).has_value());
  EXPECT_FALSE(streams.on_delivery(1, 2, 0, 5, contents(scenario, 1)).has_value());
  EXPECT_TRUE(streams.delivered(0) && streams.delivered(1));
}

TEST_F(StreamsTest, on_delivery__large_before_small_may_complete_late) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  // The second receive completes first; what counts is which message it got.
  EXPECT_FALSE(streams.on_delivery(1, 2, 0, 5, contents(scenario, 1)).has_value());
  EXPECT_FALSE(streams.on_delivery(0, 1, 0, 5, contents(scenario, 0)).has_value());
}

TEST_F(StreamsTest, on_delivery__the_other_order_breaks_order_kept) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  EXPECT_FALSE(streams.on_delivery(0, 1, 0, 5, contents(scenario, 1)).has_value());
  const auto wrong = streams.on_delivery(1, 2, 0, 5, contents(scenario, 0));
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->invariant, Invariant::kOrderKept);
}

TEST_F(StreamsTest, on_delivery__one_wrong_byte_breaks_bytes_right) {
  add(message(1));
  Streams streams(scenario);
  post_all(streams);
  std::vector<std::byte> bytes = contents(scenario, 0);
  bytes[77] ^= std::byte{4};
  const auto wrong = streams.on_delivery(0, 1, 0, 5, bytes);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->invariant, Invariant::kBytesRight);
  EXPECT_NE(wrong->detail.find("byte is 77"), std::string::npos);
}

TEST_F(StreamsTest, on_delivery__twice_breaks_delivered_once) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  EXPECT_FALSE(streams.on_delivery(0, 1, 0, 5, contents(scenario, 0)).has_value());
  const auto wrong = streams.on_delivery(1, 2, 0, 5, contents(scenario, 0));
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->invariant, Invariant::kDeliveredOnce);
}

TEST_F(StreamsTest, on_delivery__a_message_before_it_was_sent_is_wrong) {
  add(message(1));
  Streams streams(scenario);
  EXPECT_TRUE(streams.on_delivery(0, 1, 0, 5, contents(scenario, 0)).has_value());
}

TEST_F(StreamsTest, on_delivery__another_source_or_tag_is_wrong) {
  add(message(1));
  Streams streams(scenario);
  post_all(streams);
  EXPECT_TRUE(streams.on_delivery(0, 1, 7, 5, contents(scenario, 0)).has_value());
  EXPECT_TRUE(streams.on_delivery(0, 1, 0, 6, contents(scenario, 0)).has_value());
}

TEST_F(StreamsTest, on_delivery__empty_messages_are_taken_for_one_another) {
  add(message(1, 0));
  add(message(2, 0));
  Streams streams(scenario);
  post_all(streams);
  EXPECT_FALSE(streams.on_delivery(1, 2, 0, 5, {}).has_value());
  EXPECT_FALSE(streams.on_delivery(0, 1, 0, 5, {}).has_value());
  EXPECT_EQ(streams.on_delivery(0, 3, 0, 5, {})->invariant, Invariant::kDeliveredOnce);
}

TEST_F(StreamsTest, find_starved__a_receive_and_a_message_that_wait_for_each_other) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  std::vector<Item> sends(2);
  std::vector<Item> receives(2);
  std::vector<bool> blocked(2);
  sends[0].state = ItemState::kPosted;
  EXPECT_FALSE(streams.find_starved(sends, receives, blocked).has_value());
  receives[1].state = ItemState::kPosted;
  EXPECT_TRUE(streams.find_starved(sends, receives, blocked).has_value());
  streams.forget(0);
  EXPECT_FALSE(streams.find_starved(sends, receives, blocked).has_value());
}

TEST_F(StreamsTest, find_starved__a_blocked_message_waits_for_something_else) {
  add(message(1));
  Streams streams(scenario);
  post_all(streams);
  std::vector<Item> sends(1);
  std::vector<Item> receives(1);
  sends[0].state = ItemState::kPosted;
  std::uint32_t unwanted = 0;
  streams.for_each_unwanted(sends, receives, [&](std::uint32_t) { ++unwanted; });
  EXPECT_EQ(unwanted, 1U);
  receives[0].state = ItemState::kPosted;
  EXPECT_TRUE(streams.find_starved(sends, receives, {false}).has_value());
  EXPECT_FALSE(streams.find_starved(sends, receives, {true}).has_value());
  streams.for_each_unwanted(sends, receives, [&](std::uint32_t) { ++unwanted; });
  EXPECT_EQ(unwanted, 1U);
}

TEST_F(StreamsTest, find_starved__a_taken_message_that_no_failed_receive_used_up) {
  add(message(1));
  add(message(2));
  Streams streams(scenario);
  post_all(streams);
  std::vector<Item> sends(2);
  std::vector<Item> receives(2);
  std::vector<bool> blocked(2);
  sends[0].state = ItemState::kDone;
  receives[1].state = ItemState::kPosted;
  EXPECT_TRUE(streams.find_starved(sends, receives, blocked).has_value());
  streams.on_receive_failed(0);
  EXPECT_FALSE(streams.find_starved(sends, receives, blocked).has_value());
}

TEST_F(StreamsTest, may__flags_come_from_all_messages_of_the_stream) {
  add(message(1));
  Message odd = message(2);
  odd.receive_bytes = 50;
  odd.send_cancel = milliseconds(1);
  add(odd);
  Message elsewhere = message(3);
  elsewhere.tag = 6;
  elsewhere.send_digest = 1;
  add(elsewhere);
  const Streams streams(scenario);
  EXPECT_TRUE(streams.may_truncate(streams.stream_of(0)));
  EXPECT_TRUE(streams.may_give_up(streams.stream_of(0)));
  EXPECT_FALSE(streams.may_mismatch(streams.stream_of(0)));
  EXPECT_TRUE(streams.may_mismatch(streams.stream_of(2)));
  EXPECT_FALSE(streams.may_truncate(streams.stream_of(2)));
}

}  // namespace
}  // namespace zhinu::sim::check

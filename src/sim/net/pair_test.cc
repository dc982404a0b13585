#include "sim/net/pair.h"

#include <gtest/gtest.h>

#include <vector>

namespace zhinu::sim {
namespace {

std::vector<std::byte> bytes(std::size_t size) {
  return std::vector<std::byte>(size, std::byte{5});
}

core::SendArgs of(const std::vector<std::byte>& data) {
  core::SendArgs args;
  args.data = data;
  return args;
}

core::ReceiveArgs into(std::vector<std::byte>& buffer) {
  core::ReceiveArgs args;
  args.buffer = buffer;
  return args;
}

TEST(Pair, connect__both_sides_come_up) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  pair.run_for(milliseconds(1));
  EXPECT_EQ(pair.count(0, core::EventKind::kPeerUp), 1U);
  EXPECT_EQ(pair.count(1, core::EventKind::kPeerUp), 1U);
}

TEST(Pair, connect__false_when_nothing_gets_through) {
  Pair pair;
  LinkFaults cut;
  cut.cut = true;
  pair.set_faults(0, cut);
  EXPECT_FALSE(pair.connect(milliseconds(200)));
}

TEST(Pair, result__a_message_takes_the_latency) {
  Pair pair({.latency = milliseconds(3)});
  ASSERT_TRUE(pair.connect());
  const std::vector<std::byte> data = bytes(100);
  std::vector<std::byte> buffer(100);
  const auto received = pair.receive(1, into(buffer));
  const Instant sent_at = pair.now();
  pair.send(0, of(data));
  const auto done = pair.result(1, received);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, Errc::kOk);
  EXPECT_EQ(done->bytes, 100U);
  EXPECT_EQ(buffer, data);
  EXPECT_GE(pair.now() - sent_at, milliseconds(3));
  EXPECT_LT(pair.now() - sent_at, milliseconds(4));
}

TEST(Pair, drop_next__a_lost_message_is_sent_again) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const std::vector<std::byte> data = bytes(100);
  std::vector<std::byte> buffer(100);
  const auto received = pair.receive(1, into(buffer));
  pair.run_for(milliseconds(1));
  pair.drop_next(0, 1);
  const auto sent = pair.send(0, of(data));
  ASSERT_TRUE(pair.result(1, received).has_value());
  ASSERT_TRUE(pair.result(0, sent).has_value());
}

TEST(Pair, set_hook__sees_every_datagram_and_may_change_it) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  std::uint64_t seen = 0;
  pair.set_hook([&](const Pair::Leaving& leaving) -> std::uint32_t {
    ++seen;
    // The first one of side 0 is damaged, which the seal notices.
    if (leaving.side == 0 && seen == 1) leaving.bytes[leaving.bytes.size() - 1] ^= std::byte{1};
    return 1;
  });
  const std::vector<std::byte> data = bytes(100);
  std::vector<std::byte> buffer(100);
  const auto received = pair.receive(1, into(buffer));
  pair.run_for(milliseconds(1));
  seen = 0;
  pair.send(0, of(data));
  ASSERT_TRUE(pair.result(1, received).has_value());
  EXPECT_EQ(buffer, data);
  EXPECT_GE(pair.endpoint(1).counters()[core::Counter::kDropBadTag], 1U);
}

TEST(Pair, set_path_faults__one_path_of_one_side) {
  Pair pair({.paths = 2});
  ASSERT_TRUE(pair.connect());
  LinkFaults cut;
  cut.cut = true;
  pair.set_path_faults(0, 1, cut);
  const std::vector<std::byte> data = bytes(500'000);
  std::vector<std::byte> buffer(500'000);
  const auto received = pair.receive(1, into(buffer));
  pair.send(0, of(data));
  const auto done = pair.result(1, received);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, Errc::kOk);
  EXPECT_EQ(buffer, data);
}

TEST(Pair, run_until__false_after_the_limit) {
  Pair pair;
  EXPECT_FALSE(pair.run_until([] { return false; }, milliseconds(1)));
}

}  // namespace
}  // namespace zhinu::sim

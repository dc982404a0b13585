// A peer that does not post receives: what is held for it, who waits, and who does not.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr core::CommunicatorId kOther{2};

PairOptions with_paths(std::uint32_t paths, std::uint64_t seed = 1) {
  PairOptions options;
  options.paths = paths;
  options.seed = seed;
  return options;
}

void create_both(Pair& pair, core::CommunicatorId communicator) {
  for (std::uint32_t side = 0; side < 2; ++side) {
    ASSERT_TRUE(pair.endpoint(side).create_communicator(communicator).ok());
  }
}

core::SendArgs send_on(core::CommunicatorId communicator, ByteSpan data, std::uint32_t tag = 0) {
  core::SendArgs args = send_args(data, tag);
  args.communicator = communicator;
  return args;
}

core::ReceiveArgs receive_on(Pair& pair, std::uint32_t side, core::CommunicatorId communicator,
                             MutableByteSpan buffer, std::uint32_t tag = 0) {
  core::ReceiveArgs args = receive_args(pair, side, buffer, tag);
  args.communicator = communicator;
  return args;
}

// Small messages are held up to the budget, the rest waits at the sender; no more than one
// attempt each is made. All arrive in order once receives are posted.
TEST(core_unposted, small_messages__held_to_the_budget_then_announced) {
  PairOptions options = with_paths(2);
  options.endpoints[1].eager_budget_bytes = 64 * 1024;
  options.endpoints[1].communicator_reserve_bytes = 4'096;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  constexpr std::uint32_t kMessages = 400;
  std::vector<Bytes> data;
  std::vector<core::Operation> sends;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    data.push_back(content(1'024, i));
    sends.push_back(pair.send(0, send_args(data[i], 1)));
  }
  pair.run_for(milliseconds(20));
  // Held: the budget and nothing beyond it, since the reserve is no larger than the budget.
  EXPECT_EQ(pair.completions(0).size(), 64U);
  EXPECT_GT(count_of(pair, 1, Counter::kEagerNotHeld), 0U);
  EXPECT_LE(count_of(pair, 1, Counter::kEagerNotHeld), kMessages);
  const std::uint64_t settled = pair.sent(0) + pair.sent(1);
  pair.run_for(seconds(10));
  // Only the zero-window probes of one channel, at most one a second and their answers.
  EXPECT_LE(pair.sent(0) + pair.sent(1) - settled, 80U);
  EXPECT_EQ(pair.completions(0).size(), 64U);
  std::vector<Bytes> buffers(kMessages, Bytes(1'024));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    pair.receive(1, receive_args(pair, 1, buffers[i], 1));
  }
  ASSERT_TRUE(pair.run_until([&] {
    return pair.completions(0).size() == kMessages && pair.completions(1).size() == kMessages;
  }));
  EXPECT_EQ(buffers, data);
  EXPECT_EQ(count_of(pair, 1, Counter::kMessagesReceived), kMessages);
}

TEST(core_unposted, budget_used_up__others_go_on_by_their_reserve) {
  PairOptions options = with_paths(2);
  options.endpoints[1].eager_budget_bytes = 16 * 1024;
  options.endpoints[1].communicator_reserve_bytes = 1'024;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  create_both(pair, kOther);
  const Bytes data = content(1'024);
  for (std::uint32_t i = 0; i < 100; ++i) pair.send(0, send_args(data, 1));
  pair.run_for(milliseconds(20));
  EXPECT_EQ(pair.completions(0).size(), 16U);
  // The other communicator has nothing posted either, but its reserve takes a message.
  const auto reserved = pair.send(0, send_on(kOther, data, 1));
  EXPECT_EQ(result_of(pair, 0, reserved, milliseconds(20)).status, Errc::kOk);
  const auto too_many = pair.send(0, send_on(kOther, data, 1));
  pair.run_for(milliseconds(20));
  EXPECT_FALSE(pair.completion(0, too_many).has_value());
  // And with receives it needs neither.
  std::vector<Bytes> buffers(20, Bytes(1'024));
  for (Bytes& buffer : buffers) pair.receive(1, receive_on(pair, 1, kOther, buffer, 1));
  for (std::uint32_t i = 0; i < 18; ++i) pair.send(0, send_on(kOther, data, 1));
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(1).size() == 20; }, milliseconds(50)));
  for (const Bytes& buffer : buffers) EXPECT_EQ(buffer, data);
}

TEST(core_unposted, large_messages__announced_to_the_limit_then_wait) {
  PairOptions options = with_paths(2);
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(50'000);
  constexpr std::uint32_t kMessages = 100;
  for (std::uint32_t i = 0; i < kMessages; ++i) pair.send(0, send_args(data, 1));
  pair.run_for(milliseconds(5));
  const std::uint64_t settled = pair.sent(0) + pair.sent(1);
  EXPECT_LT(settled, 30U);
  pair.run_for(seconds(10));
  EXPECT_LE(pair.sent(0) + pair.sent(1) - settled, 80U);
  EXPECT_GT(count_of(pair, 0, Counter::kCreditProbes), 5U);
  std::vector<Bytes> buffers(kMessages, Bytes(data.size()));
  for (Bytes& buffer : buffers) pair.receive(1, receive_args(pair, 1, buffer, 1));
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(1).size() == kMessages; }));
  for (const Bytes& buffer : buffers) EXPECT_EQ(buffer, data);
  // No timer is needed for that: it takes little longer than the bytes on the wire (4 ms).
}

// Nothing is posted on 63 of 64 communicators. The other one does not notice.
class core_isolation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(core_isolation, silent_communicators__do_not_block_another) {
  PairOptions options = with_paths(4);
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  if (GetParam() > 0) {
    LinkFaults faults;
    faults.loss_ppm = GetParam();
    pair.set_faults(0, faults);
    pair.set_faults(1, faults);
  }
  for (std::uint16_t id = 2; id <= 64; ++id) create_both(pair, core::CommunicatorId{id});
  const Bytes small = content(2'000, 1);
  const Bytes large = content(300'000, 2);
  const auto flood = [&] {
    for (std::uint16_t id = 2; id <= 64; ++id) {
      for (std::uint32_t i = 0; i < 20; ++i) {
        pair.send(0, send_on(core::CommunicatorId{id}, i % 2 == 0 ? small : large, i));
      }
    }
  };
  flood();
  pair.run_for(milliseconds(50));
  flood();
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Instant begin = pair.now();
    expect_exchange(pair, content(i % 2 == 0 ? 1'000 : 100'000, i));
    if (GetParam() == 0) {
      EXPECT_LT(pair.now() - begin, milliseconds(2));
    }
  }
  // And in the end everybody is served.
  pair.set_faults(0, {});
  pair.set_faults(1, {});
  std::vector<Bytes> buffers;
  const std::size_t before = pair.completions(1).size();
  for (std::uint16_t id = 2; id <= 64; ++id) {
    for (std::uint32_t i = 0; i < 40; ++i) buffers.emplace_back(i % 2 == 0 ? 2'000 : 300'000);
  }
  std::size_t at = 0;
  for (std::uint16_t id = 2; id <= 64; ++id) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      pair.receive(1, receive_on(pair, 1, core::CommunicatorId{id}, buffers[at++], i % 20));
    }
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(1).size() == before + buffers.size(); },
                             seconds(60)));
  for (const Bytes& buffer : buffers) EXPECT_EQ(buffer, buffer.size() == 2'000 ? small : large);
  for (const core::Completion& done : pair.completions(1)) EXPECT_EQ(done.status, Errc::kOk);
}

INSTANTIATE_TEST_SUITE_P(loss_ppm, core_isolation, testing::Values(0, 20'000, 100'000),
                         [](const auto& one) { return std::to_string(one.param); });

// The communicator does not exist over there yet: messages wait for it.
// A communicator that gets nothing but empty messages and posts nothing: they are bounded like
// others, and the announcements of another find their place.
TEST(core_unposted, empty_messages__are_announced_to_the_limit_then_wait) {
  PairOptions options = with_paths(2);
  options.endpoints[1].held_blocks_max = 4;
  options.endpoints[1].channels_max = 4;
  for (auto& endpoint : options.endpoints) endpoint.announced_max = 2;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  create_both(pair, kOther);
  constexpr std::uint32_t kMessages = 60;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    pair.send(0, send_args({}, i));
    pair.run_for(milliseconds(1));  // what was not held is told before the next one leaves
  }
  const std::size_t held = pair.completions(0).size();
  EXPECT_LE(held, 8U);  // blocks, and what the reserves of the communicators add
  const Bytes data = content(50'000);
  Bytes buffer(data.size());
  pair.send(0, send_on(kOther, data, 1));  // nobody wants it
  const auto send = pair.send(0, send_on(kOther, data, 2));
  const auto receive = pair.receive(1, receive_on(pair, 1, kOther, buffer, 2));
  EXPECT_EQ(result_of(pair, 1, receive, seconds(1)).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_EQ(pair.completions(0).size(), held + 1);
  for (std::uint32_t i = 0; i < kMessages; ++i) pair.receive(1, receive_args(pair, 1, {}, i));
  EXPECT_TRUE(pair.run_until([&] { return pair.completions(0).size() == kMessages + 1; }));
  EXPECT_EQ(pair.completions(1).size(), kMessages + 1);
}

TEST(core_unposted, communicator_created_late__finds_its_messages) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{500}, std::size_t{200'000}}) {
    Pair pair(with_paths(2));
    ASSERT_TRUE(pair.connect());
    ASSERT_TRUE(pair.endpoint(0).create_communicator(kOther).ok());
    std::vector<Bytes> data;
    for (std::uint32_t i = 0; i < 30; ++i) data.push_back(content(size, i));
    for (const Bytes& each : data) pair.send(0, send_on(kOther, each, 4));
    pair.run_for(milliseconds(20));
    EXPECT_EQ(count_of(pair, 1, Counter::kMessagesReceived), 0U);
    ASSERT_TRUE(pair.endpoint(1).create_communicator(kOther).ok());
    pair.touch(1);
    std::vector<Bytes> buffers(30, Bytes(size));
    for (Bytes& buffer : buffers) pair.receive(1, receive_on(pair, 1, kOther, buffer, 4));
    ASSERT_TRUE(pair.run_until([&] { return pair.completions(1).size() == 30; })) << size;
    EXPECT_EQ(buffers, data);
  }
}

// A communicator that goes takes what waits for it along, and its senders learn of it.
TEST(core_unposted, communicator_destroyed__ends_announced_messages) {
  Pair pair(with_paths(2));
  ASSERT_TRUE(pair.connect());
  std::vector<core::CommunicatorId> ids;
  for (std::uint16_t id = 2; id <= 10; ++id) {
    ids.push_back(core::CommunicatorId{id});
    create_both(pair, ids.back());
  }
  const Bytes data = content(50'000);
  std::vector<core::Operation> sends;
  for (const core::CommunicatorId id : ids) {
    for (std::uint32_t i = 0; i < 16; ++i) sends.push_back(pair.send(0, send_on(id, data, i)));
  }
  pair.run_for(milliseconds(5));
  const std::uint64_t sent = pair.sent(1);
  // 144 announced messages end at one instant.
  for (const core::CommunicatorId id : ids) {
    ASSERT_TRUE(pair.endpoint(1).destroy_communicator(pair.now(), id).ok());
  }
  pair.touch(1);
  pair.run_for(milliseconds(5));
  EXPECT_LT(pair.sent(1) - sent, 20U);
  for (const core::Operation send : sends) {
    EXPECT_EQ(status_of(pair, 0, send), Errc::kPeerCancelled);
  }
  expect_exchange(pair, data);
}

// A receive for another tag gave credit: the first bytes come without a buffer, and wait.
TEST(core_unposted, credit_of_another_tag__early_segments_wait_for_their_buffer) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    PairOptions options = with_paths(4, seed);
    if (seed % 2 == 0) options.endpoints[1].grant_window_bytes = 16 * 1024;
    Pair pair(options);
    ASSERT_TRUE(pair.connect());
    LinkFaults faults;
    faults.loss_ppm = seed < 5 ? 0 : 200'000;
    faults.reorder_ppm = seed < 5 ? 0 : 300'000;
    faults.reorder_delay = microseconds(400);
    pair.set_faults(0, faults);
    pair.set_faults(1, faults);
    Bytes other(60'000);
    const auto waits = pair.receive(1, receive_args(pair, 1, other, 99));
    pair.run_for(milliseconds(10));
    // All of it fits the bytes that may be sent behind the announcement.
    const Bytes data = content(seed % 3 == 0 ? 60'000 : 8'500);
    Bytes buffer(data.size());
    const auto send = pair.send(0, send_args(data, 1));
    pair.run_for(microseconds(static_cast<std::int64_t>(10 * seed)));
    const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
    EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk) << seed;
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
    EXPECT_EQ(buffer, data);
    EXPECT_FALSE(pair.completion(1, waits).has_value());
  }
}

// A segment is refused, a copy of it is taken and completes the message, and the grant is
// lost: the refusal, which is older than all that, must not leave the sender waiting.
TEST(core_unposted, refusal_that_is_older_than_the_end__does_not_hang_the_send) {
  Pair pair(with_paths(1));
  ASSERT_TRUE(pair.connect());
  Bytes other(60'000);
  pair.receive(1, receive_args(pair, 1, other, 99));  // gives credit
  pair.run_for(milliseconds(10));
  Tap tap(pair);
  tap.keeps = false;
  std::vector<Bytes> segments;
  bool answers_lost = false;
  tap.fate = [&](const Pair::Leaving& leaving) {
    if (leaving.side == 1) return answers_lost ? 0U : 1U;
    if (!has_frame(leaving.transmit, wire::FrameKind::kSegment) || segments.size() == 2) return 1U;
    segments.emplace_back(leaving.bytes.begin(), leaving.bytes.end());
    return 0U;
  };
  const Bytes data = content(8'500);
  Bytes buffer(data.size());
  const auto send = pair.send(0, send_args(data, 1));
  pair.run_for(microseconds(50));
  const Bytes small = content(10);
  for (std::uint32_t i = 0; i < 6; ++i) {  // what makes the segment look lost
    pair.send(0, send_args(small, 5));
    pair.run_for(microseconds(50));
  }
  ASSERT_EQ(segments.size(), 2U);
  answers_lost = true;
  EXPECT_TRUE(inject(pair, 1, segments[0]).ok());  // refused
  pair.run_for(microseconds(100));
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
  pair.run_for(Duration{});
  EXPECT_TRUE(inject(pair, 1, segments[1]).ok());  // taken
  answers_lost = false;
  EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  EXPECT_EQ(buffer, data);
  EXPECT_EQ(result_of(pair, 0, send, seconds(1)).status, Errc::kOk);
  EXPECT_EQ(completions_of(pair, 0, send), 1U);
}

// All of the messages of a storm are held, refused, announced, parked and granted at some
// time; each arrives once, in order per tag.
class core_late_posts : public testing::TestWithParam<std::uint64_t> {};

TEST_P(core_late_posts, messages__arrive_once_in_order) {
  PairOptions options = with_paths(4, GetParam());
  options.endpoints[1].eager_budget_bytes = 20'000;
  options.endpoints[1].communicator_reserve_bytes = GetParam() % 2 == 0 ? 0 : 1'024;
  if (GetParam() % 3 == 0) options.endpoints[1].held_blocks_max = 8;
  if (GetParam() % 5 == 0) options.endpoints[0].announced_max = 1;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  create_both(pair, kOther);
  LinkFaults faults;
  faults.loss_ppm = 100'000;
  faults.duplicate_ppm = 30'000;
  faults.reorder_ppm = 300'000;
  faults.reorder_delay = microseconds(300);
  pair.set_faults(0, faults);
  pair.set_faults(1, faults);
  constexpr std::size_t kMessages = 300;
  constexpr std::uint32_t kTags = 3;
  Prng prng(GetParam());
  std::vector<Bytes> data;
  std::vector<std::uint32_t> tags;
  std::vector<core::CommunicatorId> on;
  std::array<std::vector<std::size_t>, 2 * kTags> sent_in_order;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const std::uint64_t kind = prng.below(10);
    const std::size_t size = kind == 0 ? prng.below(100'000) : kind == 1 ? 0 : prng.below(4'000);
    data.push_back(content(size, i));
    tags.push_back(static_cast<std::uint32_t>(prng.below(kTags)));
    const bool other = prng.below(2) == 0;
    on.push_back(other ? kOther : core::CommunicatorId{1});
    sent_in_order[tags[i] + (other ? kTags : 0)].push_back(i);
    pair.send(0, send_on(on[i], data[i], tags[i]));
    if (prng.below(20) == 0) pair.run_for(microseconds(static_cast<std::int64_t>(prng.below(500))));
  }
  pair.run_for(milliseconds(static_cast<std::int64_t>(prng.below(30))));
  // Receives in an order of their own; each takes the oldest message of its tag.
  std::vector<std::size_t> order(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) order[i] = i;
  for (std::size_t i = kMessages; i-- > 1;) std::swap(order[i], order[prng.below(i + 1)]);
  std::vector<Bytes> buffers;
  std::vector<std::size_t> expected;
  std::vector<core::Operation> receives;
  std::array<std::size_t, 2 * kTags> taken{};
  buffers.reserve(kMessages);
  for (const std::size_t i : order) {
    const std::size_t list = tags[i] + (on[i] == kOther ? kTags : 0);
    expected.push_back(sent_in_order[list][taken[list]++]);
    buffers.emplace_back(data[expected.back()].size());
    receives.push_back(pair.receive(1, receive_on(pair, 1, on[i], buffers.back(), tags[i])));
    if (prng.below(5) == 0) pair.run_for(microseconds(static_cast<std::int64_t>(prng.below(300))));
  }
  ASSERT_TRUE(pair.run_until(
      [&] {
        return pair.completions(1).size() == kMessages && pair.completions(0).size() == kMessages;
      },
      seconds(60)));
  for (std::size_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(status_of(pair, 1, receives[i]), Errc::kOk);
    EXPECT_EQ(buffers[i], data[expected[i]]);
  }
  for (const core::Completion& done : pair.completions(0)) EXPECT_EQ(done.status, Errc::kOk);
}

INSTANTIATE_TEST_SUITE_P(seeds, core_late_posts, testing::Range<std::uint64_t>(1, 61),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace zhinu::sim::test

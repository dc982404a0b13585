// Operations that are given up or run out of time, in every state and on both sides,
// while what belongs to them is still under way.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr std::size_t kLarge = 3'000'000;  // granted in many steps: 2.4 ms on the wire

PairOptions four_paths(std::uint64_t seed = 1) {
  PairOptions options;
  options.paths = 4;
  options.seed = seed;
  return options;
}

void cancel(Pair& pair, std::uint32_t side, core::Operation operation) {
  EXPECT_TRUE(pair.endpoint(side).cancel(pair.now(), operation).ok());
  pair.touch(side);
}

// After whatever happened, both directions carry messages of both kinds.
void expect_healthy(Pair& pair) {
  for (std::uint32_t from = 0; from < 2; ++from) {
    expect_exchange(pair, content(300), from, 60'000);
    expect_exchange(pair, content(200'000), from, 60'000);
  }
  pair.run_for(seconds(1));
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(pair.count(side, EventKind::kPeerDown), 0U);
  }
}

TEST(core_cancel, unknown__is_refused) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  core::Endpoint& endpoint = pair.endpoint(0);
  EXPECT_EQ(endpoint.cancel(pair.now(), {}).error(), Errc::kUnknownOperation);
  EXPECT_EQ(endpoint.cancel(pair.now(), {0, 0, false}).error(), Errc::kUnknownOperation);
  EXPECT_EQ(endpoint.cancel(pair.now(), {0, 0, true}).error(), Errc::kUnknownOperation);
  const Bytes data = content(10);
  const auto send = pair.send(0, send_args(data));
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_EQ(endpoint.cancel(pair.now(), send).error(), Errc::kUnknownOperation);
  core::Operation next = send;
  ++next.generation;
  EXPECT_EQ(endpoint.cancel(pair.now(), next).error(), Errc::kUnknownOperation);
}

TEST(core_cancel, result_decided_but_not_polled__is_kept) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  core::Endpoint& endpoint = pair.endpoint(0);
  // No touch: the completion stays in the endpoint between the two calls.
  const auto receive = endpoint.receive(pair.now(), [&] {
    core::ReceiveArgs args = receive_args(pair, 0, {});
    args.communicator = core::CommunicatorId{1};
    return args;
  }());
  ASSERT_TRUE(receive.ok());
  EXPECT_TRUE(endpoint.cancel(pair.now(), receive.value()).ok());
  EXPECT_TRUE(endpoint.cancel(pair.now(), receive.value()).ok());
  pair.touch(0);
  pair.run_for(Duration{});
  EXPECT_EQ(completions_of(pair, 0, receive.value()), 1U);
  EXPECT_EQ(status_of(pair, 0, receive.value()), Errc::kCancelled);
}

TEST(core_cancel, send_queued__is_never_sent) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, kLarge}) {
    const Bytes data = content(size);
    const std::uint64_t sent = pair.sent(0);
    const auto send = pair.send(0, send_args(data, 1));
    cancel(pair, 0, send);  // at the same instant: nothing was polled yet
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kCancelled);
    pair.run_for(milliseconds(10));
    EXPECT_EQ(pair.sent(0), sent);
    EXPECT_EQ(completions_of(pair, 0, send), 1U);
  }
  expect_healthy(pair);
}

// The message is under way: it may arrive or not, but its sender's result is fixed.
TEST(core_cancel, send_eager_in_flight__has_one_result) {
  for (const bool lost : {false, true}) {
    Pair pair;
    ASSERT_TRUE(pair.connect());
    const Bytes data = content(1'000, 1);
    const Bytes next_data = content(1'000, 2);
    Bytes buffer(1'000);
    const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
    if (lost) pair.drop_next(0, 1);
    const auto send = pair.send(0, send_args(data, 1));
    pair.run_for(Duration{});
    cancel(pair, 0, send);
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kCancelled);
    const auto next = pair.send(0, send_args(next_data, 1));
    EXPECT_EQ(result_of(pair, 0, next).status, Errc::kOk);
    EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
    EXPECT_EQ(buffer, lost ? next_data : data);  // what was lost is not sent again
    if (!lost) {
      Bytes second(1'000);
      const auto receive_next = pair.receive(1, receive_args(pair, 1, second, 1));
      EXPECT_EQ(result_of(pair, 1, receive_next).status, Errc::kOk);
      EXPECT_EQ(second, next_data);
    }
    EXPECT_EQ(completions_of(pair, 0, send), 1U);
    expect_healthy(pair);
  }
}

TEST(core_cancel, send_announced__is_forgotten_by_the_receiver) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes first = content(kLarge, 1);
  const Bytes second = content(kLarge, 2);
  const auto given_up = pair.send(0, send_args(first, 1));
  pair.run_for(milliseconds(1));
  cancel(pair, 0, given_up);
  EXPECT_EQ(result_of(pair, 0, given_up).status, Errc::kCancelled);
  pair.run_for(milliseconds(1));
  Bytes buffer(kLarge);
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
  const auto send = pair.send(0, send_args(second, 1));
  EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_EQ(buffer, second);
  expect_healthy(pair);
}

TEST(core_cancel, send_half_sent__ends_the_receive) {
  std::uint32_t unmatched = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pair pair(four_paths(seed));
    ASSERT_TRUE(pair.connect());
    LinkFaults faults;
    faults.loss_ppm = 50'000;
    faults.reorder_ppm = 300'000;
    faults.reorder_delay = microseconds(300);
    pair.set_faults(0, faults);
    pair.set_faults(1, faults);
    const Bytes data = content(kLarge);
    Bytes buffer(kLarge);
    const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
    const auto send = pair.send(0, send_args(data, 1));
    pair.run_for(microseconds(static_cast<std::int64_t>(50 * seed)));
    cancel(pair, 0, send);
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kCancelled);
    pair.run_for(milliseconds(20));
    // Where the announcement had not come yet, the receive waits for another message.
    if (!pair.completion(1, receive).has_value()) {
      ++unmatched;
      cancel(pair, 1, receive);
      EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kCancelled);
    } else {
      EXPECT_EQ(status_of(pair, 1, receive), Errc::kPeerCancelled);
    }
    // Not one late segment is written.
    std::fill(buffer.begin(), buffer.end(), std::byte{0x77});
    pair.run_for(milliseconds(100));
    EXPECT_EQ(buffer, Bytes(kLarge, std::byte{0x77}));
    EXPECT_EQ(completions_of(pair, 0, send), 1U);
    EXPECT_EQ(completions_of(pair, 1, receive), 1U);
    expect_healthy(pair);
  }
  EXPECT_LT(unmatched, 5U);
}

TEST(core_cancel, receive_posted__leaves_the_message_to_the_next) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, kLarge}) {
    const Bytes data = content(size);
    Bytes unused(size);
    const auto given_up = pair.receive(1, receive_args(pair, 1, unused, 1));
    pair.run_for(milliseconds(1));
    cancel(pair, 1, given_up);
    EXPECT_EQ(result_of(pair, 1, given_up).status, Errc::kCancelled);
    // The sender believes that a buffer waits, and sends into the void at first.
    const auto send = pair.send(0, send_args(data, 1));
    pair.run_for(milliseconds(1));
    EXPECT_EQ(unused, Bytes(size));
    Bytes buffer(size);
    const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
    EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
    EXPECT_EQ(buffer, data);
  }
  expect_healthy(pair);
}

TEST(core_cancel, receive_half_arrived__ends_the_send) {
  std::uint32_t unmatched = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pair pair(four_paths(seed));
    ASSERT_TRUE(pair.connect());
    LinkFaults faults;
    faults.loss_ppm = 50'000;
    faults.reorder_ppm = 300'000;
    faults.reorder_delay = microseconds(300);
    pair.set_faults(0, faults);
    pair.set_faults(1, faults);
    const Bytes data = content(kLarge);
    Bytes buffer(kLarge);
    const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
    const auto send = pair.send(0, send_args(data, 1));
    pair.run_for(microseconds(static_cast<std::int64_t>(150 + 50 * seed)));
    cancel(pair, 1, receive);
    EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kCancelled);
    const Bytes after(kLarge, std::byte{0x77});
    buffer = after;
    pair.run_for(milliseconds(20));
    // Where the announcement had not come yet, the message waits for another receive.
    if (!pair.completion(0, send).has_value()) {
      ++unmatched;
      cancel(pair, 0, send);
      EXPECT_EQ(result_of(pair, 0, send).status, Errc::kCancelled);
    } else {
      EXPECT_EQ(status_of(pair, 0, send), Errc::kPeerCancelled);
    }
    pair.run_for(milliseconds(100));
    EXPECT_EQ(buffer, after);
    EXPECT_EQ(completions_of(pair, 0, send), 1U);
    expect_healthy(pair);
  }
  EXPECT_LT(unmatched, 5U);
}

TEST(core_cancel, late_segments__are_counted) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(kLarge);
  Bytes buffer(kLarge);
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer, 1));
  const auto send = pair.send(0, send_args(data, 1));
  pair.run_for(microseconds(500));
  EXPECT_EQ(count_of(pair, 1, Counter::kLateSegments), 0U);
  cancel(pair, 1, receive);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kPeerCancelled);
  pair.run_for(milliseconds(1));
  EXPECT_GT(count_of(pair, 1, Counter::kLateSegments), 0U);
  expect_healthy(pair);
}

// Deadlines are cancels by time: in each state, on either side.
TEST(core_cancel, deadline__in_every_state) {
  for (const Duration after :
       {Duration{}, microseconds(5), microseconds(40), microseconds(700), milliseconds(5)}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{500}, kLarge}) {
      for (const bool receiver_gives_up : {false, true}) {
        Pair pair;
        ASSERT_TRUE(pair.connect());
        pair.run_for(milliseconds(1));
        const Bytes data = content(size);
        Bytes buffer(size);
        core::ReceiveArgs receive = receive_args(pair, 1, buffer, 1);
        core::SendArgs send = send_args(data, 1);
        (receiver_gives_up ? receive.deadline : send.deadline) = pair.now() + after;
        const auto received = pair.receive(1, receive);
        const auto sent = pair.send(0, send);
        const auto check = [&](std::uint32_t side, core::Operation operation, Errc own) {
          const auto done = pair.completion(side, operation);
          if (!done.has_value()) return;  // without its own deadline it may wait for ever
          EXPECT_TRUE(done->status == Errc::kOk || done->status == own) << int(done->status);
        };
        pair.run_for(milliseconds(20));
        const std::uint32_t side = receiver_gives_up ? 1 : 0;
        const auto mine = receiver_gives_up ? received : sent;
        ASSERT_TRUE(pair.completion(side, mine).has_value());
        check(0, sent, receiver_gives_up ? Errc::kPeerCancelled : Errc::kDeadlineExceeded);
        check(1, received, receiver_gives_up ? Errc::kDeadlineExceeded : Errc::kPeerCancelled);
        if (size == kLarge && after < milliseconds(1)) {
          EXPECT_EQ(status_of(pair, side, mine), Errc::kDeadlineExceeded);
        }
        // What is left over does not disturb others.
        for (const auto& [owner, operation] : {std::pair{0U, sent}, std::pair{1U, received}}) {
          if (!pair.completion(owner, operation).has_value()) cancel(pair, owner, operation);
        }
        expect_healthy(pair);
        EXPECT_EQ(completions_of(pair, 0, sent), 1U);
        EXPECT_EQ(completions_of(pair, 1, received), 1U);
      }
    }
  }
}

TEST(core_cancel, deadline__is_kept_to_the_tick) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  core::ReceiveArgs receive = receive_args(pair, 1, {}, 1);
  receive.deadline = pair.now() + microseconds(12'345);
  const auto operation = pair.receive(1, receive);
  pair.run_for(microseconds(12'344));
  EXPECT_FALSE(pair.completion(1, operation).has_value());
  pair.run_for(microseconds(1));
  EXPECT_EQ(status_of(pair, 1, operation), Errc::kDeadlineExceeded);
}

TEST(core_cancel, read_and_write__in_every_state) {
  for (std::int64_t after_us = 0; after_us < 1'200; after_us += 30) {
    Pair pair(four_paths(static_cast<std::uint64_t>(after_us + 1)));
    ASSERT_TRUE(pair.connect());
    LinkFaults faults;
    faults.loss_ppm = 50'000;
    pair.set_faults(0, faults);
    pair.set_faults(1, faults);
    const Bytes data = content(kLarge);
    Bytes memory(kLarge);
    Bytes buffer(kLarge);
    const auto region = pair.endpoint(1).register_region(memory, {true, true});
    ASSERT_TRUE(region.ok());
    core::WriteArgs write;
    write.data = data;
    write.region = region.value();
    core::ReadArgs read;
    read.buffer = buffer;
    read.region = region.value();
    const auto written = pair.write(0, write);
    const auto got = pair.read(0, read);
    pair.run_for(microseconds(after_us));
    cancel(pair, 0, written);
    cancel(pair, 0, got);
    EXPECT_EQ(result_of(pair, 0, written).status, Errc::kCancelled);
    EXPECT_EQ(result_of(pair, 0, got).status, Errc::kCancelled);
    const Bytes after(kLarge, std::byte{0x77});
    buffer = after;
    pair.run_for(milliseconds(50));
    EXPECT_EQ(buffer, after);
    EXPECT_EQ(completions_of(pair, 0, written), 1U);
    EXPECT_EQ(completions_of(pair, 0, got), 1U);
    expect_healthy(pair);
  }
}

// Cancel at both ends at once, many messages, random instants: one result each, and
// the buffers belong to their owner afterwards.
class core_cancel_storm : public testing::TestWithParam<std::uint64_t> {};

TEST_P(core_cancel_storm, both_sides__leaves_no_trace) {
  constexpr std::size_t kMessages = 60;
  Pair pair(four_paths(GetParam()));
  ASSERT_TRUE(pair.connect());
  LinkFaults faults;
  faults.loss_ppm = 80'000;
  faults.duplicate_ppm = 50'000;
  faults.reorder_ppm = 200'000;
  faults.reorder_delay = microseconds(500);
  pair.set_faults(0, faults);
  pair.set_faults(1, faults);
  Prng prng(GetParam());
  std::vector<Bytes> data;
  std::vector<Bytes> buffers;
  std::vector<core::Operation> sends;
  std::vector<core::Operation> receives;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const std::size_t size = prng.below(2) == 0 ? prng.below(8'192) : prng.below(400'000);
    data.push_back(content(size, i));
    buffers.emplace_back(size);
  }
  const auto tag = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
  for (std::size_t i = 0; i < kMessages; ++i) {
    receives.push_back(pair.receive(1, receive_args(pair, 1, buffers[i], tag(i))));
    sends.push_back(pair.send(0, send_args(data[i], tag(i))));
    pair.run_for(microseconds(static_cast<std::int64_t>(prng.below(100))));
    const std::size_t victim = prng.below(i + 1);
    if (prng.below(2) == 0) {
      static_cast<void>(pair.endpoint(0).cancel(pair.now(), sends[victim]));
      pair.touch(0);
    } else {
      static_cast<void>(pair.endpoint(1).cancel(pair.now(), receives[victim]));
      pair.touch(1);
    }
  }
  pair.run_for(seconds(5));
  for (std::size_t i = 0; i < kMessages; ++i) {
    const auto sent = pair.completion(0, sends[i]);
    const auto received = pair.completion(1, receives[i]);
    if (sent.has_value() && sent->status == Errc::kOk && received.has_value() &&
        received->status == Errc::kOk) {
      EXPECT_EQ(buffers[i], data[i]);
    }
    if (received.has_value() && received->status == Errc::kOk) {
      EXPECT_EQ(buffers[i], data[i]);
    }
    if (!sent.has_value()) cancel(pair, 0, sends[i]);
    if (!received.has_value()) cancel(pair, 1, receives[i]);
  }
  pair.run_for(seconds(5));
  for (std::size_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(completions_of(pair, 0, sends[i]), 1U);
    EXPECT_EQ(completions_of(pair, 1, receives[i]), 1U);
  }
  pair.set_faults(0, {});
  pair.set_faults(1, {});
  expect_healthy(pair);
}

INSTANTIATE_TEST_SUITE_P(seeds, core_cancel_storm, testing::Range<std::uint64_t>(1, 41),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace zhinu::sim::test

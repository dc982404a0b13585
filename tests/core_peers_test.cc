// Peers that are idle, die, come back, leave, pause, or never were what they seem.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr core::CommunicatorId kWorldCommunicator{1};

LinkFaults cut() {
  LinkFaults faults;
  faults.cut = true;
  return faults;
}

LinkFaults lossy(std::uint32_t loss_ppm) {
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  return faults;
}

PairOptions with_paths(std::uint32_t paths, std::uint64_t seed = 1) {
  PairOptions options;
  options.paths = paths;
  options.seed = seed;
  return options;
}

// Kills one side's endpoint and makes a new one at the same address.
void restart(Pair& pair, std::uint32_t side, Duration down) {
  pair.cluster().stop(side);
  pair.run_for(down);
  pair.start_again(side);
}

std::size_t events_of(const Pair& pair, std::uint32_t side, EventKind kind, Errc code) {
  std::size_t count = 0;
  for (const core::Event& event : pair.events(side)) {
    if (event.kind == kind && event.code == code) ++count;
  }
  return count;
}

// A posted item of every kind, in every state that side 0 can bring it into.
struct Items {
  Items(Pair& pair, std::uint32_t side) {
    for (std::uint32_t i = 0; i < 32; ++i) sends.push_back(pair.send(side, send_args(small, i)));
    for (std::uint32_t i = 0; i < 32; ++i) {
      sends.push_back(pair.send(side, send_args(large, 100 + i)));
    }
    for (std::uint32_t i = 0; i < 8; ++i) {
      buffers.emplace_back(20'000);
      receives.push_back(pair.receive(side, receive_args(pair, side, buffers.back(), 500 + i)));
    }
    core::ReadArgs read;
    read.buffer = buffers[0];
    read.region = {77};  // unknown over there
    receives.push_back(pair.read(side, read));
    core::WriteArgs write;
    write.data = large;
    write.region = {78};
    sends.push_back(pair.write(side, write));
  }
  std::vector<core::Operation> all() const {
    std::vector<core::Operation> both = sends;
    both.insert(both.end(), receives.begin(), receives.end());
    return both;
  }

  Bytes small = content(64, 1);
  Bytes large = content(300'000, 2);
  std::vector<Bytes> buffers;
  std::vector<core::Operation> sends;
  std::vector<core::Operation> receives;
};

void expect_all_ended_once(const Pair& pair, std::uint32_t side,
                           const std::vector<core::Operation>& operations) {
  for (const core::Operation operation : operations) {
    EXPECT_EQ(completions_of(pair, side, operation), 1U)
        << "slot " << operation.slot << (operation.receives ? " receives" : " sends");
  }
}

TEST(core_peers, idle__stays_up_without_a_word) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(100));
  expect_exchange(pair, content(100'000), 1);
  pair.run_for(milliseconds(100));
  const std::uint64_t sent = pair.sent(0) + pair.sent(1);
  pair.run_for(seconds(600));
  EXPECT_EQ(pair.sent(0) + pair.sent(1), sent);
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_TRUE(pair.endpoint(side).peer_is_up(pair.peer(side)));
    EXPECT_EQ(pair.count(side, EventKind::kPeerSilent), 0U);
    EXPECT_EQ(pair.count(side, EventKind::kPeerDown), 0U);
  }
  expect_exchange(pair, content(100'000));
}

// Loss while the two meet must not end a session that has begun.
class core_meeting : public testing::TestWithParam<std::uint64_t> {};

TEST_P(core_meeting, connect_under_loss__makes_one_session) {
  PairOptions options = with_paths(2, GetParam());
  options.latency = microseconds(10 << GetParam() % 12);
  Pair pair(options);
  const Bytes data = content(30'000);
  Bytes buffer(data.size());
  pair.set_faults(0, lossy(300'000));
  pair.set_faults(1, lossy(300'000));
  ASSERT_TRUE(pair.connect(seconds(60)));
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer));
  const auto send = pair.send(0, send_args(data));
  EXPECT_EQ(result_of(pair, 1, receive, seconds(60)).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, send, seconds(60)).status, Errc::kOk);
  pair.run_for(seconds(3));
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(pair.count(side, EventKind::kPeerUp), 1U);
    EXPECT_EQ(pair.count(side, EventKind::kPeerDown), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, core_meeting, testing::Range<std::uint64_t>(1, 61),
                         [](const auto& one) { return std::to_string(one.param); });

TEST(core_peers, restart__ends_old_items_and_starts_over) {
  for (std::uint32_t restarted = 0; restarted < 2; ++restarted) {
    const std::uint32_t survivor = 1 - restarted;
    Pair pair(with_paths(4));
    ASSERT_TRUE(pair.connect());
    const Items items(pair, survivor);
    pair.run_for(microseconds(300));
    restart(pair, restarted, milliseconds(5));
    ASSERT_TRUE(pair.run_until([&] {
      return pair.endpoint(restarted).peer_is_up(pair.peer(restarted)) &&
             events_of(pair, survivor, EventKind::kPeerDown, Errc::kPeerRestarted) == 1;
    }));
    expect_all_ended_once(pair, survivor, items.all());
    for (std::size_t i = 0; i + 1 < items.receives.size(); ++i) {
      EXPECT_EQ(status_of(pair, survivor, items.receives[i]), Errc::kPeerRestarted);
    }
    // The read was refused before, as its region does not exist.
    EXPECT_EQ(status_of(pair, survivor, items.receives.back()), Errc::kRegionRefused);
    expect_exchange(pair, content(100), 0, 7);
    expect_exchange(pair, content(1'000'000), 0, 7);
    expect_exchange(pair, content(1'000'000), 1, 7);
    pair.run_for(seconds(1));
    EXPECT_EQ(pair.count(survivor, EventKind::kPeerUp), 2U);
    EXPECT_EQ(pair.count(survivor, EventKind::kPeerDown), 1U);
  }
}

// Restarts in a row leak no record: what a session held is free for the next.
TEST(core_peers, restart__again_and_again_leaks_nothing) {
  PairOptions options = with_paths(2);
  for (auto& endpoint : options.endpoints) {
    endpoint.sends_max = 128;
    endpoint.receives_max = 128;
    endpoint.sent_packets_max = 256;
    endpoint.channels_max = 8;
  }
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  for (std::uint32_t round = 0; round < 40; ++round) {
    const Items items(pair, 0);
    // Some are given up, so that cancels are under way when the peer goes.
    pair.run_for(microseconds(20 + 15 * round));
    for (std::size_t i = 0; i < items.sends.size(); i += 2) {
      static_cast<void>(pair.endpoint(0).cancel(pair.now(), items.sends[i]));
    }
    pair.touch(0);
    pair.run_for(microseconds(7 * (round % 3)));
    restart(pair, 1, milliseconds(1));
    ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kPeerUp) == round + 2; }));
    expect_all_ended_once(pair, 0, items.all());
    expect_exchange(pair, content(50'000), 0, 9'000);
  }
  // Every slot is free again: as many sends as the pool has are taken.
  std::vector<core::Operation> sends;
  const Bytes data = content(10);
  for (std::uint32_t i = 0; i < 128; ++i) sends.push_back(pair.send(0, send_args(data, 9'001)));
}

// A cancel of the old session must not void a number of the new one.
TEST(core_peers, restart__forgets_cancels_of_the_old_session) {
  PairOptions options = with_paths(1);
  options.endpoints[1].sends_max = 1;  // answers one read at a time
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  Bytes memory(100'000);
  const auto region = pair.endpoint(1).register_region(memory, {true, true});
  ASSERT_TRUE(region.ok());
  std::vector<Bytes> buffers(20, Bytes(50'000));
  std::vector<core::Operation> reads;
  for (Bytes& buffer : buffers) {
    core::ReadArgs read;
    read.traffic_class = core::SendArgs{}.traffic_class;
    read.buffer = buffer;
    read.region = region.value();
    reads.push_back(pair.read(0, read));
  }
  pair.run_for(microseconds(60));
  restart(pair, 1, milliseconds(1));
  ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kPeerUp) == 2; }));
  expect_all_ended_once(pair, 0, reads);
  for (std::uint32_t i = 0; i < 40; ++i) expect_exchange(pair, content(100 + i), 0, i);
}

TEST(core_peers, replayed_hello__moves_nothing) {
  Pair pair(with_paths(1));
  Tap tap(pair);
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(100));
  const auto seen = tap.seen;
  tap.keeps = false;
  const core::Operation waits = pair.receive(0, receive_args(pair, 0, {}, 3));
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (const Tap::Seen& one : seen) {
      if (one.is_handshake) static_cast<void>(inject(pair, 1 - one.side, one.bytes));
      pair.run_for(microseconds(100));
    }
    pair.run_for(seconds(8));  // the cookie runs out in between
  }
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(pair.count(side, EventKind::kPeerUp), 1U);
    EXPECT_EQ(pair.count(side, EventKind::kPeerDown), 0U);
  }
  EXPECT_FALSE(pair.completion(0, waits).has_value());
  expect_exchange(pair, content(20'000));
}

// Recorded before a restart, sent again after it: neither HELLO nor data moves anything.
TEST(core_peers, replay_of_an_old_session__moves_nothing) {
  PairOptions options = with_paths(1);
  options.seal = core::SealMode::kGmac;
  Pair pair(options);
  Tap tap(pair);
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(100), 1);
  expect_exchange(pair, content(100), 0);
  const auto seen = tap.seen;
  tap.keeps = false;
  restart(pair, 1, milliseconds(1));
  ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kPeerUp) == 2; }));
  const std::uint64_t before = count_of(pair, 0, Counter::kMessagesReceived);
  for (const Tap::Seen& one : seen) {
    static_cast<void>(inject(pair, 1 - one.side, one.bytes));
    pair.run_for(microseconds(100));
  }
  pair.run_for(seconds(3));
  EXPECT_EQ(pair.count(0, EventKind::kPeerUp), 2U);
  EXPECT_EQ(pair.count(0, EventKind::kPeerDown), 1U);
  EXPECT_EQ(count_of(pair, 0, Counter::kMessagesReceived), before);
  EXPECT_GT(count_of(pair, 0, Counter::kDropUnknownConnection), 0U);
  expect_exchange(pair, content(20'000));
}

// Case B08: the peer is killed with 64 sends in flight.
TEST(core_peers, killed_with_64_sends__each_ends_once_when_it_is_back) {
  Pair pair(with_paths(4));
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(100'000);
  std::vector<Bytes> buffers(64, Bytes(data.size()));
  std::vector<core::Operation> sends;
  for (std::uint32_t i = 0; i < 64; ++i) {
    pair.receive(1, receive_args(pair, 1, buffers[i], i));
    sends.push_back(pair.send(0, send_args(data, i)));
  }
  pair.run_for(milliseconds(1));
  const Instant killed = pair.now();
  restart(pair, 1, milliseconds(100));
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(0).size() >= 64; }, seconds(1)));
  EXPECT_LT(pair.now() - killed, seconds(1));
  expect_all_ended_once(pair, 0, sends);
  pair.run_for(seconds(1));
  EXPECT_EQ(pair.completions(0).size(), 64U);
}

// Nobody answers: a notice after 5 s, the end of everything after 120 s.
TEST(core_peers, all_paths_cut__silent_then_down) {
  Pair pair(with_paths(4));
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(100));
  pair.run_for(seconds(1));
  pair.set_faults(0, cut());
  pair.set_faults(1, cut());
  const Items items(pair, 0);
  const std::size_t done = pair.completions(0).size();
  const Instant begin = pair.now();
  ASSERT_TRUE(
      pair.run_until([&] { return pair.count(0, EventKind::kPeerSilent) > 0; }, seconds(6)));
  EXPECT_GE(pair.now() - begin, seconds(5));
  EXPECT_LE(pair.now() - begin, milliseconds(5'010));
  EXPECT_EQ(pair.completions(0).size(), done);
  ASSERT_TRUE(
      pair.run_until([&] { return pair.count(0, EventKind::kPeerDown) > 0; }, seconds(120)));
  EXPECT_GE(pair.now() - begin, seconds(120));
  EXPECT_LE(pair.now() - begin, milliseconds(120'010));
  EXPECT_EQ(events_of(pair, 0, EventKind::kPeerDown, Errc::kPeerUnreachable), 1U);
  EXPECT_EQ(pair.count(0, EventKind::kPeerSilent), 1U);
  pair.run_for(milliseconds(1));
  expect_all_ended_once(pair, 0, items.all());
  for (const core::Operation operation : items.all()) {
    EXPECT_EQ(status_of(pair, 0, operation), Errc::kPeerUnreachable);
  }
  // The network is back, and so is the peer: what is posted now goes through.
  pair.set_faults(0, {});
  pair.set_faults(1, {});
  ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kPeerUp) == 2; }));
  ASSERT_TRUE(pair.run_until([&] { return pair.count(1, EventKind::kPeerUp) == 2; }));
  expect_exchange(pair, content(100'000), 0, 9);
  expect_exchange(pair, content(100'000), 1, 9);
}

// What only waits for a peer learns of its death too.
TEST(core_peers, all_paths_cut__who_only_receives_learns_of_it) {
  Pair pair(with_paths(2));
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(4'000'000);
  Bytes buffer(data.size());
  Bytes other(100);
  const auto granted = pair.receive(1, receive_args(pair, 1, buffer));
  const auto posted = pair.receive(1, receive_args(pair, 1, other, 1));
  pair.send(0, send_args(data));
  pair.run_for(microseconds(500));
  pair.cluster().stop(0);
  ASSERT_TRUE(
      pair.run_until([&] { return pair.completion(1, granted).has_value(); }, seconds(130)));
  EXPECT_EQ(pair.count(1, EventKind::kPeerSilent), 1U);
  EXPECT_EQ(status_of(pair, 1, granted), Errc::kPeerUnreachable);
  EXPECT_EQ(status_of(pair, 1, posted), Errc::kPeerUnreachable);
}

TEST(core_peers, outage_shorter_than_the_limit__ends_nothing) {
  Pair pair(with_paths(4));
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(5'000'000);
  Bytes buffer(data.size());
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer));
  const auto send = pair.send(0, send_args(data));
  pair.run_for(milliseconds(1));
  pair.set_faults(0, cut());
  pair.set_faults(1, cut());
  pair.run_for(seconds(60));
  EXPECT_FALSE(pair.completion(0, send).has_value());
  pair.set_faults(0, {});
  pair.set_faults(1, {});
  const Instant healed = pair.now();
  EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_LT(pair.now() - healed, seconds(3));
  EXPECT_EQ(buffer, data);
  EXPECT_EQ(pair.count(0, EventKind::kPeerDown), 0U);
  EXPECT_EQ(pair.count(1, EventKind::kPeerDown), 0U);
}

// Total loss for longer than any retry budget is told, never a crash (case B10).
TEST(core_peers, heavy_loss_for_a_minute__goes_on) {
  Pair pair(with_paths(2));
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(300'000));
  pair.set_faults(1, lossy(300'000));
  const Instant end = pair.now() + seconds(60);
  std::uint64_t exchanged = 0;
  while (pair.now() < end) {
    expect_exchange(pair, content(1'000 + exchanged * 997 % 200'000, exchanged), exchanged % 2);
    pair.run_for(milliseconds(500));
    ++exchanged;
  }
  EXPECT_GT(exchanged, 50U);
  EXPECT_EQ(pair.count(0, EventKind::kPeerDown), 0U);
}

TEST(core_peers, close__ends_items_on_both_sides) {
  Pair pair(with_paths(2));
  ASSERT_TRUE(pair.connect());
  const Items mine(pair, 0);
  const Items theirs(pair, 1);
  pair.run_for(microseconds(100));
  ASSERT_TRUE(pair.endpoint(0).close_peer(pair.now(), pair.peer(0)).ok());
  pair.touch(0);
  ASSERT_TRUE(pair.run_until([&] { return pair.count(1, EventKind::kPeerDown) == 1; }));
  pair.run_for(milliseconds(10));
  expect_all_ended_once(pair, 0, mine.all());
  expect_all_ended_once(pair, 1, theirs.all());
  EXPECT_EQ(events_of(pair, 0, EventKind::kPeerDown, Errc::kPeerClosed), 1U);
  EXPECT_EQ(events_of(pair, 1, EventKind::kPeerDown, Errc::kPeerClosed), 1U);
  const Bytes data = content(10);
  core::SendArgs args = send_args(data);
  args.peer = pair.peer(0);
  args.communicator = kWorldCommunicator;
  EXPECT_EQ(pair.endpoint(0).send(pair.now(), args).error(), Errc::kPeerClosed);
  // A restart of the other side says hello, and that opens the pair again.
  restart(pair, 1, milliseconds(1));
  ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kPeerUp) == 2; }));
  expect_exchange(pair, content(100'000));
}

// Abort needs no answer: with a dead peer it ends everything at once.
TEST(core_peers, abort__with_a_dead_peer_ends_at_once) {
  Pair pair(with_paths(2));
  ASSERT_TRUE(pair.connect());
  const Items items(pair, 0);
  pair.run_for(microseconds(200));
  pair.cluster().stop(1);
  pair.run_for(milliseconds(1));
  ASSERT_TRUE(pair.endpoint(0).abort(pair.now(), kWorldCommunicator, Errc::kAborted).ok());
  pair.touch(0);
  pair.run_for(Duration{});
  expect_all_ended_once(pair, 0, items.all());
  EXPECT_EQ(pair.count(0, EventKind::kAborted), 1U);
  ASSERT_TRUE(pair.endpoint(0).destroy_communicator(pair.now(), kWorldCommunicator).ok());
  pair.touch(0);
  pair.run_for(seconds(1));
  EXPECT_EQ(pair.count(0, EventKind::kAborted), 1U);
}

// An abort that was under way when the session ended is told in the next one.
TEST(core_peers, abort__reaches_a_peer_that_comes_back) {
  Pair pair(with_paths(1));
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, cut());
  pair.set_faults(1, cut());
  ASSERT_TRUE(pair.endpoint(0).abort(pair.now(), kWorldCommunicator, Errc::kAborted).ok());
  pair.touch(0);
  ASSERT_TRUE(
      pair.run_until([&] { return pair.count(0, EventKind::kPeerDown) == 1; }, seconds(130)));
  EXPECT_EQ(pair.count(1, EventKind::kAborted), 0U);
  pair.set_faults(0, {});
  pair.set_faults(1, {});
  ASSERT_TRUE(pair.run_until([&] { return pair.count(1, EventKind::kAborted) == 1; }));
}

}  // namespace
}  // namespace zhinu::sim::test

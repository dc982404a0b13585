#include <gtest/gtest.h>

#include <vector>

#include "core/connected_pair_test.h"
#include "core/endpoint.h"
#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Datagram;
using test::engine_options;
using test::kPeer;
using test::kWorldCommunicator;
using test::Link;
using EndpointTimers = test::ConnectedPair;

TEST_F(EndpointTimers, run_deadlines__posted_receive) {
  ReceiveArgs args = link.receive_args(bytes);
  args.deadline = link.now + milliseconds(5);
  ASSERT_EQ(receive(args), Errc::kOk);
  link.run_for(milliseconds(4));
  EXPECT_TRUE(link.completions(0).empty());
  link.run_for(milliseconds(2));
  EXPECT_EQ(status_of(0), Errc::kDeadlineExceeded);
}

TEST_F(EndpointTimers, run_deadlines__queued_eager_and_announced_sends) {
  link.fate = [](const Datagram&) { return false; };
  for (const std::size_t size : {std::size_t{100}, std::size_t{100'000}}) {
    SendArgs args = link.send_args(ByteSpan(bytes).first(size));
    args.deadline = link.now + milliseconds(5);
    ASSERT_EQ(send(args), Errc::kOk);
    link.run_for(milliseconds(10));
    EXPECT_EQ(status_of(0), Errc::kDeadlineExceeded) << size;
  }
  SendArgs queued = link.send_args(bytes);
  queued.deadline = link.now;
  ASSERT_EQ(send(queued), Errc::kOk);
  link[0].handle_timeout(link.now + milliseconds(2));
  EXPECT_EQ(status_of(0), Errc::kDeadlineExceeded);
}

TEST_F(EndpointTimers, run_deadlines__incoming_message_and_both_sides_end) {
  std::vector<std::byte> buffer(bytes.size());
  ReceiveArgs args = link.receive_args(buffer);
  args.deadline = link.now + milliseconds(5);
  ASSERT_TRUE(link[1].receive(link.now, args).ok());
  std::uint32_t packets = 0;
  link.fate = [&](const Datagram& datagram) { return datagram.from == 1 || ++packets < 4; };
  ASSERT_EQ(send(link.send_args(bytes)), Errc::kOk);
  link.run_for(milliseconds(20));
  EXPECT_EQ(status_of(1), Errc::kDeadlineExceeded);
  link.fate = {};
  link.run_for(seconds(2));
  const auto done = link.completions(0);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_NE(done[0].status, Errc::kOk);
}

// Nothing reaches the sender, so that its endings pile up until there is no room for another.
TEST(EndpointCancel, cancel_later__ends_when_its_sender_can_be_told) {
  constexpr std::uint32_t kEndings = 64 + 4 + 8;  // refusals, receives, announcements
  Link link;
  link.options(1).receives_max = 4;
  link.options(1).channels_max = 4;
  link.options(1).announced_max = 2;
  link.options(1).refusals_max = 1;
  link.options(0).announced_max = kEndings + 1;
  link.start(0);
  link.start(1);
  link.connect();
  link.fate = [](const Datagram& datagram) { return datagram.from == 0; };
  std::vector<std::byte> bytes(100'000);
  Operation last;
  for (std::uint32_t i = 0; i <= kEndings; ++i) {
    ASSERT_TRUE(link[0].send(link.now, link.send_args(bytes)).ok());
    const auto posted = link[1].receive(link.now, link.receive_args(bytes));
    ASSERT_TRUE(posted.ok());
    last = posted.value();
    link.run_for(milliseconds(1));
    ASSERT_TRUE(link[1].cancel(link.now, last).ok());
    EXPECT_EQ(link.completions(1).size(), i < kEndings ? 1U : 0U);
  }
  EXPECT_TRUE(link[1].cancel(link.now, last).ok());  // once more, while it waits
  link.run_for(milliseconds(100));
  EXPECT_TRUE(link.completions(1).empty());
  link.fate = [](const Datagram& datagram) { return datagram.bytes.size() < 1'000; };  // no data
  link.run_for(seconds(3));
  const auto done = link.completions(1);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].operation, last);
  EXPECT_EQ(done[0].status, Errc::kCancelled);
  link.fate = {};
  link.run_for(seconds(3));
  EXPECT_EQ(link.completions(0).size(), kEndings + 1U);
}

TEST_F(EndpointTimers, run_peer_timers__silent_then_down) {
  link.fate = [](const Datagram&) { return false; };
  ASSERT_EQ(send(link.send_args(bytes)), Errc::kOk);
  const Instant begin = link.now;
  link.run_for(seconds(4));
  EXPECT_TRUE(peer_events(0).empty());
  link.run_for(seconds(2));
  auto events = peer_events(0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::kPeerSilent);
  EXPECT_EQ(events[0].at, begin + seconds(5));
  link.run_for(seconds(113));
  EXPECT_TRUE(peer_events(0).empty());
  link.run_for(seconds(2));
  events = peer_events(0);
  ASSERT_GE(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::kPeerDown);
  EXPECT_EQ(events[0].code, Errc::kPeerUnreachable);
  EXPECT_EQ(events[0].at, begin + seconds(120));
  EXPECT_EQ(status_of(0), Errc::kPeerUnreachable);
}

TEST_F(EndpointTimers, poll_timeout__idle_endpoints_sleep) {
  link.run_for(seconds(10));
  EXPECT_EQ(link.timeout(), Instant::never());
}

// Whatever is lost, an instant that was served does not stay due.
TEST_F(EndpointTimers, poll_timeout__no_busy_loop_under_loss) {
  Prng prng(5);
  link.fate = [&](const Datagram&) { return prng.next() % 4 != 0; };
  std::vector<std::byte> buffer(bytes.size());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
    ASSERT_EQ(send(link.send_args(bytes)), Errc::kOk);
  }
  std::uint32_t stuck = 0;
  for (int i = 0; i < 20'000; ++i) {
    link.settle();
    const Instant at = link.timeout();
    if (at == Instant::never()) break;
    stuck = at <= link.now ? stuck + 1 : 0;
    ASSERT_LT(stuck, 3U) << "due again and again at one instant";
    link.now = std::max(link.now, at);
    for (std::uint32_t side = 0; side < 2; ++side) link[side].handle_timeout(link.now);
  }
  EXPECT_EQ(link.completions(0).size(), 10U);
  EXPECT_EQ(link.completions(1).size(), 10U);
  EXPECT_EQ(buffer, bytes);
}

TEST_F(EndpointTimers, run_deadlines__later_ones_of_ended_items_do_nothing) {
  std::vector<std::byte> buffer(bytes.size());
  ReceiveArgs receiving = link.receive_args(buffer);
  receiving.deadline = link.now + seconds(1);
  ASSERT_TRUE(link[1].receive(link.now, receiving).ok());
  SendArgs sending = link.send_args(bytes);
  sending.deadline = link.now + seconds(1);
  ASSERT_EQ(send(sending), Errc::kOk);
  link.run_for(milliseconds(100));
  EXPECT_EQ(status_of(0), Errc::kOk);
  EXPECT_EQ(status_of(1), Errc::kOk);
  EXPECT_EQ(buffer, bytes);
  link.run_for(seconds(2));
  EXPECT_TRUE(link.completions(0).empty());
  EXPECT_TRUE(link.completions(1).empty());
}

TEST_F(EndpointTimers, run_transitions__path_dies_and_all_arrives_by_the_other) {
  for (std::uint32_t side = 0; side < 2; ++side) {
    PathConfig path = test::path_to(Link::host(1 - side), 1);
    ASSERT_TRUE(link[side].add_path(link.now, kPeer, path).ok());
  }
  link.fate = [](const Datagram& datagram) { return datagram.route.path != 0; };
  std::vector<std::byte> buffer(bytes.size());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(link[1].receive(link.now, link.receive_args(buffer)).ok());
    ASSERT_EQ(send(link.send_args(bytes)), Errc::kOk);
  }
  link.run_for(milliseconds(200));
  EXPECT_EQ(link.completions(0).size(), 4U);
  EXPECT_EQ(link.completions(1).size(), 4U);
  EXPECT_EQ(buffer, bytes);
  EXPECT_EQ(link.count(0, Counter::kPathsDied), 1U);
  const auto events = link.events(0);
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[0].kind, EventKind::kPathChanged);
  EXPECT_EQ(events[0].path, 0U);
  EXPECT_EQ(events[0].old_state, PathState::kGood);
  EXPECT_EQ(events[0].new_state, PathState::kSuspect);
  EXPECT_EQ(events[1].new_state, PathState::kDead);
}

}  // namespace
}  // namespace zhinu::core

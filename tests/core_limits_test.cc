// Everything has a limit: what is refused at it, what waits, and that others go on.
#include <algorithm>
#include <functional>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr core::CommunicatorId kOne{1};

TEST(core_limits, footprint__within_the_budgets) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const core::Endpoint::Footprint print = pair.endpoint(0).footprint();
  EXPECT_LE(print.flow, 1'024U);
  EXPECT_LE(print.path_out, 256U);
  EXPECT_LE(print.path_in, 256U);
  EXPECT_LE(print.communicator, 4'096U);
  EXPECT_LE(print.endpoint, 65'536U);
  EXPECT_GT(print.arena, 0U);
}

// All records of packets are with a peer that is silent: the others go on.
TEST(core_limits, sent_packets_used_up_by_one_peer__others_go_on) {
  ClusterOptions options;
  options.fabric.nodes = 3;
  options.seal = core::SealMode::kCrc32c;
  options.endpoints[0].sent_packets_max = 32;
  Mesh mesh(options);
  ASSERT_TRUE(mesh.connect_all());
  const Bytes data = content(8'000);
  // More than fills the pool, to a peer that cannot hear; then work for another.
  mesh.cluster().fabric().block(0, 1);
  for (std::uint32_t i = 0; i < 60; ++i) mesh.send(0, 1, send_args(data, i));
  mesh.run_for(milliseconds(1));
  std::vector<Bytes> buffers(20, Bytes(data.size()));
  for (std::uint32_t i = 0; i < 20; ++i) {
    core::ReceiveArgs args;
    args.buffer = buffers[i];
    args.tag = i;
    mesh.receive(2, 0, args);
    mesh.send(0, 2, send_args(data, i));
  }
  mesh.run_for(milliseconds(20));
  mesh.cluster().fabric().unblock(0, 1);
  ASSERT_TRUE(mesh.run_until([&] { return mesh.completions(2).size() == 20; }, seconds(5)));
  for (std::uint32_t i = 0; i < 60; ++i) {
    Bytes buffer(data.size());
    core::ReceiveArgs args;
    args.buffer = buffer;
    args.tag = i;
    const auto receive = mesh.receive(1, 0, args);
    ASSERT_TRUE(mesh.run_until([&] { return mesh.completion(1, receive).has_value(); }));
    EXPECT_EQ(buffer, data);
  }
}

// More (peer, class, communicator) with receives posted than there are channels.
TEST(core_limits, channels__those_with_credit_only_make_room) {
  PairOptions options;
  for (auto& endpoint : options.endpoints) endpoint.channels_max = 4;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  for (std::uint16_t id = 2; id <= 20; ++id) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      ASSERT_TRUE(pair.endpoint(side).create_communicator(core::CommunicatorId{id}).ok());
    }
  }
  const Bytes data = content(50'000);
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint16_t id = 1; id <= 20; ++id) {
      for (std::uint32_t from = 0; from < 2; ++from) {
        Bytes buffer(data.size());
        core::ReceiveArgs receive = receive_args(pair, 1 - from, buffer, 1);
        receive.communicator = core::CommunicatorId{id};
        core::SendArgs send = send_args(data, 1);
        send.communicator = core::CommunicatorId{id};
        const auto received = pair.receive(1 - from, receive);
        const auto sent = pair.send(from, send);
        EXPECT_EQ(result_of(pair, 1 - from, received).status, Errc::kOk);
        EXPECT_EQ(result_of(pair, from, sent).status, Errc::kOk);
        EXPECT_EQ(buffer, data);
      }
    }
  }
}

// The peer sends on more paths than there is room to remember: those beyond are dead to it,
// and all goes over the others.
TEST(core_limits, in_paths__the_first_ones_carry_all) {
  PairOptions options;
  options.paths = 4;
  options.endpoints[1].in_paths_max = 1;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  for (std::uint32_t i = 0; i < 20; ++i) expect_exchange(pair, content(100'000, i), i % 2, i);
  std::uint32_t usable = 0;
  for (std::uint8_t path = 0; path < 4; ++path) {
    const auto status = pair.endpoint(0).path_status(pair.peer(0), path);
    if (status.value().state == core::PathState::kGood) ++usable;
  }
  EXPECT_EQ(usable, 2U);
  EXPECT_GT(count_of(pair, 1, Counter::kDropNoRoom), 0U);
  EXPECT_EQ(count_of(pair, 0, Counter::kDropNoRoom), 0U);
  EXPECT_EQ(pair.count(0, EventKind::kPeerDown), 0U);
  EXPECT_EQ(pair.count(1, EventKind::kPeerDown), 0U);
}

// Numbers run on for longer than the window of numbers and the replay window.
TEST(core_limits, many_messages__pass_every_window) {
  PairOptions options;
  options.paths = 4;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  LinkFaults faults;
  faults.loss_ppm = 50'000;
  faults.reorder_ppm = 200'000;
  faults.reorder_delay = microseconds(300);
  pair.set_faults(0, faults);
  pair.set_faults(1, faults);
  constexpr std::size_t kMessages = 9'000;
  const Bytes small = content(40, 1);
  const Bytes large = content(12'000, 2);
  std::vector<Bytes> buffers(kMessages);
  std::size_t sent = 0;
  const auto post = [&] {
    while (sent < kMessages && sent < pair.completions(1).size() + 300) {
      const Bytes& data = sent % 3 == 0 ? large : small;
      buffers[sent].resize(data.size());
      pair.receive(1, receive_args(pair, 1, buffers[sent], 1));
      pair.send(0, send_args(data, 1));
      ++sent;
    }
    return pair.completions(1).size() == kMessages && pair.completions(0).size() == kMessages;
  };
  ASSERT_TRUE(pair.run_until(post, seconds(100)));
  for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(buffers[i], i % 3 == 0 ? large : small);
}

TEST(core_limits, posts__refuse_what_they_cannot_take) {
  PairOptions options;
  options.endpoints[0].sends_max = 1;
  options.endpoints[0].receives_max = 1;
  options.endpoints[0].regions_max = 1;
  options.endpoints[0].paths_max = 1;
  options.endpoints[0].peers_max = 1;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  core::Endpoint& endpoint = pair.endpoint(0);
  core::SendArgs send = send_args({});
  send.peer = pair.peer(0);
  send.communicator = kOne;
  core::ReceiveArgs receive = receive_args(pair, 0, {});
  receive.communicator = kOne;
  EXPECT_TRUE(endpoint.send(pair.now(), send).ok());
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kFull);
  EXPECT_TRUE(endpoint.receive(pair.now(), receive).ok());
  EXPECT_EQ(endpoint.receive(pair.now(), receive).error(), Errc::kFull);
  EXPECT_TRUE(endpoint.register_region({}, {}).ok());
  EXPECT_EQ(endpoint.register_region({}, {}).error(), Errc::kFull);
  EXPECT_EQ(endpoint.add_path(pair.now(), pair.peer(0), {}).error(), Errc::kFull);
  const core::PathConfig path;
  EXPECT_EQ(endpoint.add_peer(pair.now(), {.rank = 9, .paths = {&path, 1}}).error(), Errc::kFull);
  EXPECT_EQ(endpoint.create_communicator(kOne).error(), Errc::kExists);
  EXPECT_EQ(endpoint.create_communicator({}).error(), Errc::kInvalidArgument);
  send.peer = core::PeerId{7};
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kUnknownPeer);
  send.peer = pair.peer(0);
  send.communicator = core::CommunicatorId{7};
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kUnknownCommunicator);
  send.communicator = kOne;
  send.traffic_class = TrafficClass::kControl;
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kInvalidArgument);
  send.traffic_class = TrafficClass::kGradient;
  send.digest = 1U << 24;
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kInvalidArgument);
  send.digest = 1;
  send.tag = 1U << 16;
  EXPECT_EQ(endpoint.send(pair.now(), send).error(), Errc::kInvalidArgument);
}

}  // namespace
}  // namespace zhinu::sim::test

#include "sim/net/cluster.h"

#include <gtest/gtest.h>

#include <vector>

namespace zhinu::sim {
namespace {

// Posts one message between each pair of neighbours and counts what comes back.
class Neighbours : public Owner {
 public:
  void begin(Cluster& cluster) {
    cluster_ = &cluster;
    for (std::uint32_t node = 0; node < cluster.nodes(); ++node) {
      cluster.start(node);
      ASSERT_TRUE(cluster.endpoint(node).create_communicator(core::CommunicatorId{0}).ok());
    }
    for (std::uint32_t node = 0; node + 1 < cluster.nodes(); ++node) {
      cluster.connect(node, node + 1);
      cluster.connect(node + 1, node);
      post(node, node + 1);
    }
  }

  void post(std::uint32_t from, std::uint32_t to) {
    core::ReceiveArgs receive;
    receive.peer = cluster_->peer(to, from);
    receive.communicator = core::CommunicatorId{0};
    receive.buffer = buffer_;
    ASSERT_TRUE(cluster_->endpoint(to).receive(cluster_->now(), receive).ok());
    core::SendArgs send;
    send.peer = cluster_->peer(from, to);
    send.communicator = core::CommunicatorId{0};
    send.data = payload_;
    ASSERT_TRUE(cluster_->endpoint(from).send(cluster_->now(), send).ok());
    cluster_->touch(from);
    cluster_->touch(to);
  }

  void on_completion(std::uint32_t node, const core::Completion& completion) override {
    EXPECT_EQ(completion.status, Errc::kOk);
    EXPECT_LT(node, cluster_->nodes());
    ++completions;
  }
  void on_event(std::uint32_t node, const core::Event& event) override {
    if (event.kind == core::EventKind::kPeerUp) {
      ++ups;
      EXPECT_NE(cluster_->node_of(node, event.peer), Cluster::kNoNode);
    }
  }
  void on_timer(std::uint64_t value) override { timers.push_back(value); }

  std::uint32_t completions = 0;
  std::uint32_t ups = 0;
  std::vector<std::uint64_t> timers;

 private:
  Cluster* cluster_ = nullptr;
  std::vector<std::byte> payload_ = std::vector<std::byte>(2'000, std::byte{7});
  std::vector<std::byte> buffer_ = std::vector<std::byte>(2'000);
};

ClusterOptions options() {
  ClusterOptions cluster;
  cluster.fabric.nodes = 4;
  cluster.fabric.nics = 2;
  cluster.paths_per_pair = 4;
  cluster.seal = core::SealMode::kCrc32c;
  return cluster;
}

TEST(Cluster, run_until__messages_between_neighbours_arrive) {
  Neighbours owner;
  Cluster cluster(options(), owner);
  owner.begin(cluster);
  cluster.run_until(cluster.now() + milliseconds(50));
  EXPECT_EQ(owner.ups, 6U);
  EXPECT_EQ(owner.completions, 6U);
}

TEST(Cluster, hash__equal_runs_are_equal_and_other_seeds_are_others) {
  const auto hash_of = [](const ClusterOptions& cluster_options) {
    Neighbours owner;
    Cluster cluster(cluster_options, owner);
    owner.begin(cluster);
    cluster.run_until(cluster.now() + milliseconds(50));
    return cluster.hash().value();
  };
  ClusterOptions other = options();
  other.seed = 2;
  EXPECT_EQ(hash_of(options()), hash_of(options()));
  EXPECT_NE(hash_of(options()), hash_of(other));
}

TEST(Cluster, call_at__timers_come_in_order_and_never_in_the_past) {
  Neighbours owner;
  Cluster cluster(options(), owner);
  cluster.call_at(cluster.now() + milliseconds(2), 2);
  cluster.call_at(cluster.now() + milliseconds(1), 1);
  cluster.call_at(Instant{}, 0);
  cluster.run_until(cluster.now() + milliseconds(10));
  EXPECT_EQ(owner.timers, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Cluster, pause__packets_wait_at_the_nic_until_the_node_runs_again) {
  Neighbours owner;
  Cluster cluster(options(), owner);
  owner.begin(cluster);
  cluster.run_until(cluster.now() + milliseconds(50));
  cluster.pause(1, cluster.now() + milliseconds(20));
  EXPECT_TRUE(cluster.paused(1));
  owner.post(0, 1);
  cluster.run_until(cluster.now() + milliseconds(19));
  EXPECT_EQ(owner.completions, 6U);
  cluster.run_until(cluster.now() + milliseconds(5));
  EXPECT_FALSE(cluster.paused(1));
  EXPECT_EQ(owner.completions, 8U);
}

TEST(Cluster, resume__ends_a_pause_at_once) {
  Neighbours owner;
  Cluster cluster(options(), owner);
  owner.begin(cluster);
  cluster.pause(1, cluster.now() + seconds(100));
  cluster.resume(1);
  cluster.run_until(cluster.now() + milliseconds(50));
  EXPECT_EQ(owner.completions, 6U);
}

TEST(Cluster, stop__what_is_sent_to_a_stopped_node_reaches_nobody) {
  Neighbours owner;
  Cluster cluster(options(), owner);
  owner.begin(cluster);
  cluster.run_until(cluster.now() + milliseconds(50));
  cluster.stop(1);
  EXPECT_FALSE(cluster.started(1));
  cluster.run_until(cluster.now() + milliseconds(1));
  cluster.start(1);
  EXPECT_TRUE(cluster.started(1));
  EXPECT_EQ(cluster.received_by(1), 0U);
}

TEST(Cluster, disjoint_paths__each_runs_over_its_own_spine) {
  Neighbours owner;
  ClusterOptions cluster_options = options();
  cluster_options.fabric.spines = 8;
  Cluster cluster(cluster_options, owner);
  const auto paths = cluster.disjoint_paths(0, 3, 8);
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    const NicAddress to = decode_address(paths[i].remote);
    EXPECT_EQ(cluster.fabric().spine_of({0, paths[i].nic, 0}, to, paths[i].key), i);
  }
}

}  // namespace
}  // namespace zhinu::sim

#include "sim/check/injector.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

class Nobody : public Owner {
  void on_completion(std::uint32_t /*node*/, const core::Completion& /*completion*/) override {}
  void on_event(std::uint32_t /*node*/, const core::Event& /*event*/) override {}
  void on_timer(std::uint64_t /*value*/) override {}
};

class InjectorTest : public ::testing::Test {
 protected:
  void fault(const char* link, const LinkFaults& faults) {
    scenario.link_faults.push_back({.link = link, .at = {}, .duration = {}, .faults = faults});
  }
  const LinkFaults& faults_of(Cluster& cluster, const char* name) {
    return cluster.fabric().link(*cluster.fabric().find_link(name)).faults();
  }
  Nobody nobody;
  Scenario scenario;
};

TEST_F(InjectorTest, start_link_fault__overlapping_faults_add_up_and_end_one_by_one) {
  LinkFaults lossy;
  lossy.loss_ppm = 10;
  LinkFaults worse;
  worse.loss_ppm = 50;
  worse.cut = true;
  fault("n0:0>", lossy);
  fault("n0:0>", worse);
  Cluster cluster({}, nobody);
  Injector injector(scenario, cluster);
  injector.start_link_fault(0);
  injector.start_link_fault(1);
  EXPECT_EQ(faults_of(cluster, "n0:0>").loss_ppm, 50U);
  EXPECT_TRUE(faults_of(cluster, "n0:0>").cut);
  injector.end_link_fault(1);
  EXPECT_EQ(faults_of(cluster, "n0:0>").loss_ppm, 10U);
  EXPECT_FALSE(faults_of(cluster, "n0:0>").cut);
  EXPECT_EQ(injector.counts()[static_cast<std::size_t>(FaultKind::kLoss)], 2U);
  EXPECT_EQ(injector.counts()[static_cast<std::size_t>(FaultKind::kCut)], 1U);
}

TEST_F(InjectorTest, heal__ends_all_and_nothing_starts_after_it) {
  LinkFaults clogged;
  clogged.clogged = true;
  fault("n1:0<", clogged);
  fault("l0:s0>", clogged);
  scenario.partitions.push_back({.at = {}, .duration = {}, .nodes = 1});
  Cluster cluster({}, nobody);
  Injector injector(scenario, cluster);
  injector.start_link_fault(0);
  injector.start_partition(0);
  injector.heal();
  injector.start_link_fault(1);
  EXPECT_FALSE(faults_of(cluster, "n1:0<").clogged);
  EXPECT_FALSE(faults_of(cluster, "l0:s0>").clogged);
  const std::vector<std::byte> head(20);
  cluster.fabric().send(cluster.now(), {0, 0, 0}, {1, 0, 0}, 1, head, {});
  EXPECT_EQ(cluster.fabric().blocked_packets(), 0U);
}

TEST_F(InjectorTest, start_partition__one_way_lets_the_other_direction_through) {
  scenario.partitions.push_back({.at = {}, .duration = {}, .nodes = 1, .one_way = true});
  Cluster cluster({}, nobody);
  Injector injector(scenario, cluster);
  injector.start_partition(0);
  const std::vector<std::byte> head(20);
  cluster.fabric().send(cluster.now(), {1, 0, 0}, {0, 0, 0}, 1, head, {});
  EXPECT_EQ(cluster.fabric().blocked_packets(), 0U);
  cluster.fabric().send(cluster.now(), {0, 0, 0}, {1, 0, 0}, 1, head, {});
  EXPECT_EQ(cluster.fabric().blocked_packets(), 1U);
}

TEST_F(InjectorTest, start_link_fault__a_link_that_does_not_exist_is_left_out) {
  LinkFaults cut;
  cut.cut = true;
  fault("n9:9>", cut);
  Cluster cluster({}, nobody);
  Injector injector(scenario, cluster);
  injector.start_link_fault(0);
  injector.end_link_fault(0);
  EXPECT_EQ(injector.counts()[static_cast<std::size_t>(FaultKind::kCut)], 0U);
}

}  // namespace
}  // namespace zhinu::sim::check

#include "sim/check/stream_load.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

TEST(StreamLoad, begin__senders_keep_the_receiver_busy_and_the_prober_gets_answers) {
  StreamLoadOptions options;
  options.senders = {0, 1};
  options.receiver = 2;
  options.prober = 3;
  options.message_bytes = 10'000;
  options.outstanding = 2;
  StreamLoad load(options);
  ClusterOptions cluster_options;
  cluster_options.fabric.nodes = 4;
  Cluster cluster(cluster_options, load);
  load.begin(cluster);
  cluster.run_until(cluster.now() + milliseconds(5));
  EXPECT_GT(load.received_bytes()[0], 100'000U);
  EXPECT_GT(load.received_bytes()[1], 100'000U);
  EXPECT_EQ(load.total_bytes(), load.received_bytes()[0] + load.received_bytes()[1]);
  EXPECT_GT(load.probe_times_ns().size(), 10U);
  load.reset();
  EXPECT_EQ(load.total_bytes(), 0U);
  EXPECT_TRUE(load.probe_times_ns().empty());
}

}  // namespace
}  // namespace zhinu::sim::check

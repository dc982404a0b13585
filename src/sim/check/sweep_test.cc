#include "sim/check/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "sim/check/generate.h"

namespace zhinu::sim::check {
namespace {

TEST(Sweep, sweep__jobs_do_not_change_the_result) {
  const SweepReport one =
      sweep({.first_seed = 20, .seeds = 5, .jobs = 1, .shrink_attempts = 0}, {});
  const SweepReport three =
      sweep({.first_seed = 20, .seeds = 5, .jobs = 3, .shrink_attempts = 0}, {});
  EXPECT_EQ(one.seeds, 5U);
  EXPECT_EQ(three.seeds, 5U);
  EXPECT_EQ(one.hash, three.hash);
  EXPECT_EQ(one.packets, three.packets);
  EXPECT_EQ(one.virtual_time, three.virtual_time);
  EXPECT_GT(one.cpu_us, 0U);
}

TEST(Sweep, sweep__the_watcher_sees_every_seed_finish) {
  std::uint64_t last = 0;
  sweep({.first_seed = 1, .seeds = 3}, [&](const SweepProgress& progress) {
    EXPECT_GE(progress.seeds, last);
    EXPECT_EQ(progress.of, 3U);
    last = progress.seeds;
  });
  EXPECT_EQ(last, 3U);
}

TEST(Sweep, sweep__an_interrupt_gives_the_partial_result) {
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(pipe(pipe_fds.data()), 0);
  ASSERT_EQ(write(pipe_fds[1], "x", 1), 1);
  const SweepReport report =
      sweep({.first_seed = 1, .seeds = 1'000, .interrupt_fd = pipe_fds[0]}, {});
  EXPECT_TRUE(report.interrupted);
  EXPECT_LT(report.seeds, 10U);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Sweep, run_scenario_isolated__counts_the_cpu_time) {
  std::uint64_t cpu_us = 0;
  const Outcome outcome = run_scenario_isolated(generate(2), &cpu_us);
  EXPECT_GT(outcome.items, 0U);
  EXPECT_GT(cpu_us, 0U);
}

}  // namespace
}  // namespace zhinu::sim::check

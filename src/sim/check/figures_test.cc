#include "sim/check/figures.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

TEST(Figures, incast__thirty_two_senders_share_a_port_calmly) {
  const IncastFigures figures = incast({});
  EXPECT_GE(figures.goodput_ratio, kIncastGoodputMin);
  EXPECT_GE(figures.jain, kIncastJainMin);
  EXPECT_LE(figures.small_p99_ratio, kIncastSmallP99Max)
      << figures.small_p99_us << " us beside the incast, " << figures.small_idle_p99_us << " idle";
}

TEST(Figures, path_loss__one_bad_path_of_four_costs_little) {
  const PathLossFigures figures = path_loss({});
  EXPECT_GE(figures.clean_ratio, 0.9);
  EXPECT_GE(figures.ratio, kPathLossRatioMin);
}

}  // namespace
}  // namespace zhinu::sim::check

#include "sim/check/channel_loads.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

TEST(ChannelLoads, waiting__counts_each_channel_for_itself) {
  ChannelLoads loads;
  EXPECT_EQ(loads.waiting(0, 1, 2, TrafficClass::kGradient), 0U);
  loads.add(0, 1, 2, TrafficClass::kGradient);
  loads.add(0, 1, 2, TrafficClass::kGradient);
  loads.add(1, 0, 2, TrafficClass::kGradient);
  loads.add(0, 1, 3, TrafficClass::kGradient);
  loads.add(0, 1, 2, TrafficClass::kDataset);
  EXPECT_EQ(loads.waiting(0, 1, 2, TrafficClass::kGradient), 2U);
  EXPECT_EQ(loads.waiting(1, 0, 2, TrafficClass::kGradient), 1U);
  EXPECT_EQ(loads.waiting(0, 1, 3, TrafficClass::kGradient), 1U);
  EXPECT_EQ(loads.waiting(0, 1, 2, TrafficClass::kDataset), 1U);
  EXPECT_EQ(loads.waiting(0, 2, 2, TrafficClass::kGradient), 0U);
  loads.clear();
  EXPECT_EQ(loads.waiting(0, 1, 2, TrafficClass::kGradient), 0U);
}

}  // namespace
}  // namespace zhinu::sim::check

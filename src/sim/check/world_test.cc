#include "sim/check/world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/check/shrink.h"
#include "sim/check/world_fixture.h"

namespace zhinu::sim::check {
namespace {

TEST(World, run__a_plain_scenario_breaks_nothing) {
  const Outcome outcome = run_once(plain_scenario());
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.items, 62U);
}

TEST(World, run__a_saboteur_who_does_nothing_changes_nothing) {
  Saboteur honest;
  EXPECT_EQ(run_once(plain_scenario(), &honest).hash, run_once(plain_scenario()).hash);
}

TEST(World, run__restart_close_abort_and_address_are_survived) {
  Scenario scenario = plain_scenario();
  scenario.communicators = 2;
  scenario.fabric.nodes = 3;
  scenario.actions.push_back({.kind = ActionKind::kAddress, .at = microseconds(200), .node = 0});
  scenario.actions.push_back({.kind = ActionKind::kRestart,
                              .at = milliseconds(3),
                              .duration = milliseconds(1),
                              .node = 1});
  scenario.actions.push_back(
      {.kind = ActionKind::kAbort, .at = milliseconds(2), .node = 0, .communicator = 1});
  scenario.actions.push_back(
      {.kind = ActionKind::kPause, .at = milliseconds(1), .duration = milliseconds(2), .node = 2});
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.faults[static_cast<std::size_t>(FaultKind::kRestart)], 1U);
}

TEST(World, run__the_trace_tells_of_posts_packets_and_results) {
  std::vector<std::string> lines;
  run_once(plain_scenario(), nullptr, [&](const std::string& line) { lines.push_back(line); });
  const auto tells = [&](const char* text) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(tells("send of message 0 posted"));
  EXPECT_TRUE(tells("HELLO"));
  EXPECT_TRUE(tells("segment"));
  EXPECT_TRUE(tells("send of message 0 ended: ok"));
}

// Flips a bit of the payload of one segment on the wire, where no seal notices.
class FlipsPayload : public Saboteur {
 public:
  void damage(const core::Transmit& transmit, MutableByteSpan bytes) override {
    if (done || transmit.packet == nullptr) return;
    const wire::Frame& last = transmit.packet->frames[transmit.packet->frame_count - 1];
    if (last.kind != wire::FrameKind::kSegment) return;
    bytes[bytes.size() - 1] ^= std::byte{0x10};
    done = true;
  }
  bool done = false;
};

TEST(World, shrink__a_planted_fault_is_cut_down_to_one_message) {
  const auto fails = [](const Scenario& scenario) {
    FlipsPayload saboteur;
    const Outcome outcome = run_once(scenario, &saboteur);
    return outcome.failure && outcome.failure->invariant == Invariant::kBytesRight;
  };
  std::uint32_t attempts = 0;
  const Scenario smallest = shrink(plain_scenario(), fails, {}, attempts);
  EXPECT_TRUE(fails(smallest));
  EXPECT_EQ(smallest.messages.size() + smallest.accesses.size(), 1U);
}

}  // namespace
}  // namespace zhinu::sim::check

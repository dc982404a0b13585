#include "sim/check/world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/check/run.h"
#include "sim/check/shrink.h"

namespace zhinu::sim::check {
namespace {

// Two nodes, thirty messages of all sizes, a write with notification and a read.
Scenario plain_scenario() {
  Scenario scenario;
  scenario.seal = core::SealMode::kNone;
  scenario.heal_at = milliseconds(20);
  scenario.fabric.paths = 2;
  for (std::uint32_t id = 0; id < 30; ++id) {
    Message message;
    message.id = id;
    message.from = id % 2;
    message.to = 1 - message.from;
    message.tag = id % 3;
    message.bytes = 8 + (id % 5 == 0 ? 100'000 : 300 * std::uint64_t{id});
    message.receive_bytes = message.bytes;
    message.send_at = microseconds(100 + 10 * id);
    message.receive_at = microseconds(50 + 10 * id);
    scenario.messages.push_back(message);
  }
  scenario.regions.push_back({.id = 0, .node = 1, .bytes = 50'000, .writable = true});
  scenario.regions.push_back({.id = 1, .node = 0, .bytes = 30'000});
  scenario.accesses.push_back({.id = 0,
                               .from = 0,
                               .region = 0,
                               .bytes = 40'000,
                               .offset = 64,
                               .write = true,
                               .notify = true,
                               .at = microseconds(500)});
  scenario.accesses.push_back(
      {.id = 1, .from = 1, .region = 1, .bytes = 20'000, .offset = 77, .at = microseconds(500)});
  return scenario;
}

std::string broken_by(Saboteur& saboteur, const Scenario& scenario = plain_scenario()) {
  const Outcome outcome = run_once(scenario, &saboteur);
  return outcome.failure ? std::string(name_of(outcome.failure->invariant)) : "nothing";
}

TEST(World, run__a_plain_scenario_breaks_nothing) {
  const Outcome outcome = run_once(plain_scenario());
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
  EXPECT_EQ(outcome.items, 62U);
}

TEST(World, run__a_saboteur_who_does_nothing_changes_nothing) {
  Saboteur honest;
  EXPECT_EQ(run_once(plain_scenario(), &honest).hash, run_once(plain_scenario()).hash);
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

TEST(World, run__a_flipped_payload_byte_breaks_bytes_right) {
  FlipsPayload saboteur;
  EXPECT_EQ(broken_by(saboteur), "bytes_right");
}

class ChangesCompletions : public Saboteur {
 public:
  ChangesCompletions(ItemKind of_kind, std::uint32_t see_times) : kind(of_kind), times(see_times) {}
  std::uint32_t completions(ItemRef item, core::Completion& /*completion*/) override {
    return item.kind == kind && item.index == 1 ? times : 1;
  }
  ItemKind kind;
  std::uint32_t times;
};

TEST(World, run__a_second_completion_breaks_exactly_one_completion) {
  ChangesCompletions saboteur(ItemKind::kSend, 2);
  EXPECT_EQ(broken_by(saboteur), "exactly_one_completion");
}

TEST(World, run__a_lost_completion_of_a_read_breaks_completion_after_heal) {
  ChangesCompletions saboteur(ItemKind::kAccess, 0);
  EXPECT_EQ(broken_by(saboteur), "completion_after_heal");
}

TEST(World, run__a_lost_completion_of_a_receive_breaks_completion_after_heal) {
  ChangesCompletions saboteur(ItemKind::kReceive, 0);
  EXPECT_EQ(broken_by(saboteur), "completion_after_heal");
}

class ChangesStatus : public Saboteur {
  std::uint32_t completions(ItemRef item, core::Completion& completion) override {
    if (item.kind == ItemKind::kSend && item.index == 3) completion.status = Errc::kPeerRestarted;
    return 1;
  }
};

TEST(World, run__an_error_without_cause_breaks_result_allowed) {
  ChangesStatus saboteur;
  EXPECT_EQ(broken_by(saboteur), "result_allowed");
}

class Scribbles : public Saboteur {
  bool scribble(ItemRef item) override {
    return item.kind == ItemKind::kReceive && item.index == 4;
  }
};

TEST(World, run__a_late_write_breaks_nothing_written_after_completion) {
  Scribbles saboteur;
  EXPECT_EQ(broken_by(saboteur), "nothing_written_after_completion");
}

class ReleasesEarly : public Saboteur {
  bool release_early(ItemRef item) override {
    return item.kind == ItemKind::kSend && item.index == 5;
  }
};

TEST(World, run__a_payload_that_leaves_after_the_buffer_was_given_back) {
  ReleasesEarly saboteur;
  EXPECT_EQ(broken_by(saboteur), "no_resend_from_changed_buffer");
}

class RepeatsPacket : public Saboteur {
  bool repeat_packet() override { return ++packets == 40; }
  int packets = 0;
};

TEST(World, run__a_repeated_packet_number_breaks_nonce_unique) {
  RepeatsPacket saboteur;
  EXPECT_EQ(broken_by(saboteur), "nonce_unique");
}

class SwapsReceives : public Saboteur {
  std::uint32_t completions(ItemRef item, core::Completion& completion) override {
    if (item.kind == ItemKind::kReceive && item.index == 1) completion.tag += 1;
    return 1;
  }
};

TEST(World, run__a_message_of_another_tag_breaks_order_kept) {
  SwapsReceives saboteur;
  EXPECT_EQ(broken_by(saboteur), "order_kept");
}

TEST(World, run__items_of_a_communicator_that_nobody_serves_are_cancelled_at_the_end) {
  Scenario scenario = plain_scenario();
  scenario.communicators = 2;
  for (Message& message : scenario.messages) {
    if (message.id % 3 != 0) continue;
    message.communicator = 1;
    message.receive_at = kNever;
  }
  const Outcome outcome = run_once(scenario);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->detail;
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

#include "sim/check/expectation.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

struct Bench {
  explicit Bench(const Scenario& of) : scenario(of), streams(scenario), history(scenario) {}
  bool allows(ItemRef ref, Errc status, const Item& item = {}, Duration now = {}) const {
    return result_allowed(scenario, streams, history, ref, item, status, now);
  }
  Scenario scenario;
  Streams streams;
  History history;
};

Scenario one_message() {
  Scenario scenario;
  scenario.fabric.nodes = 3;
  scenario.messages.push_back({.id = 1, .from = 0, .to = 1, .bytes = 10, .receive_bytes = 10});
  return scenario;
}

constexpr ItemRef kSend{ItemKind::kSend, 0};
constexpr ItemRef kReceive{ItemKind::kReceive, 0};

TEST(Expectation, result_allowed__only_ok_without_cause) {
  const Bench bench(one_message());
  EXPECT_TRUE(bench.allows(kSend, Errc::kOk));
  for (const Errc status :
       {Errc::kCancelled, Errc::kDeadlineExceeded, Errc::kTruncated, Errc::kDigestMismatch,
        Errc::kRegionRefused, Errc::kPeerCancelled, Errc::kPeerUnreachable, Errc::kPeerRestarted,
        Errc::kPeerClosed, Errc::kAborted, Errc::kProtocolViolation, Errc::kNotHeld}) {
    EXPECT_FALSE(bench.allows(kSend, status)) << errc_text(status);
    EXPECT_FALSE(bench.allows(kReceive, status)) << errc_text(status);
  }
}

TEST(Expectation, result_allowed__cancelled_only_who_was_cancelled) {
  Scenario scenario = one_message();
  scenario.messages[0].send_cancel = milliseconds(1);
  const Bench bench(scenario);
  Item cancelled;
  cancelled.cancel_asked = true;
  EXPECT_TRUE(bench.allows(kSend, Errc::kCancelled, cancelled));
  EXPECT_FALSE(bench.allows(kReceive, Errc::kCancelled));
  EXPECT_TRUE(bench.allows(kReceive, Errc::kPeerCancelled));
}

TEST(Expectation, result_allowed__a_deadline_not_before_its_time) {
  const Bench bench(one_message());
  Item item;
  item.deadline = milliseconds(5);
  EXPECT_FALSE(bench.allows(kSend, Errc::kDeadlineExceeded, item, milliseconds(4)));
  EXPECT_TRUE(bench.allows(kSend, Errc::kDeadlineExceeded, item, milliseconds(5)));
}

TEST(Expectation, result_allowed__restart_and_close_concern_their_pairs) {
  Bench bench(one_message());
  Item at_sender;
  at_sender.node = 0;
  bench.history.on_restart(2);
  EXPECT_FALSE(bench.allows(kSend, Errc::kPeerRestarted, at_sender));
  bench.history.on_close(0, 1);
  EXPECT_TRUE(bench.allows(kSend, Errc::kPeerClosed, at_sender));
}

TEST(Expectation, result_allowed__an_abort_concerns_its_communicator) {
  Bench bench(one_message());
  EXPECT_FALSE(bench.allows(kSend, Errc::kAborted));
  bench.history.on_communicator_ended(0);
  EXPECT_TRUE(bench.allows(kSend, Errc::kAborted));
}

TEST(Expectation, result_allowed__a_refused_region_was_revoked) {
  Scenario scenario = one_message();
  scenario.regions.push_back({.id = 0, .node = 1, .bytes = 10});
  scenario.accesses.push_back({.id = 0, .from = 0, .region = 0, .bytes = 10});
  EXPECT_FALSE(Bench(scenario).allows({ItemKind::kAccess, 0}, Errc::kRegionRefused));
  scenario.regions[0].revoke_at = milliseconds(1);
  EXPECT_TRUE(Bench(scenario).allows({ItemKind::kAccess, 0}, Errc::kRegionRefused));
  EXPECT_FALSE(Bench(scenario).allows(kSend, Errc::kRegionRefused));
}

TEST(Expectation, other_end__by_kind) {
  Scenario scenario = one_message();
  scenario.regions.push_back({.id = 4, .node = 2, .bytes = 10});
  scenario.accesses.push_back({.id = 0, .from = 0, .region = 4, .bytes = 10});
  EXPECT_EQ(other_end(scenario, kSend), 1U);
  EXPECT_EQ(other_end(scenario, kReceive), 0U);
  EXPECT_EQ(other_end(scenario, {ItemKind::kAccess, 0}), 2U);
  scenario.messages[0].any_source = true;
  EXPECT_EQ(other_end(scenario, kReceive), kAnyNode);
}

}  // namespace
}  // namespace zhinu::sim::check

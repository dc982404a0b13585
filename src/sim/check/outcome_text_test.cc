#include "sim/check/outcome_text.h"

#include <gtest/gtest.h>

namespace zhinu::sim::check {
namespace {

Outcome sample() {
  Outcome outcome;
  outcome.hash = UINT64_MAX;
  outcome.elapsed = milliseconds(123);
  outcome.packets = 4;
  outcome.events = 5;
  outcome.items = 6;
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) outcome.faults[kind] = 100 + kind;
  return outcome;
}

TEST(OutcomeText, read_outcome__gives_back_what_was_written) {
  const auto back = read_outcome(write_outcome(sample()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->hash, UINT64_MAX);
  EXPECT_EQ(back->elapsed, milliseconds(123));
  EXPECT_EQ(back->packets, 4U);
  EXPECT_EQ(back->faults, sample().faults);
  EXPECT_FALSE(back->failure.has_value());
}

TEST(OutcomeText, read_outcome__with_a_failure) {
  Outcome outcome = sample();
  outcome.failure = Failure{Invariant::kOrderKept, "7 before 6, 2 wrong", microseconds(9)};
  const auto back = read_outcome(write_outcome(outcome));
  ASSERT_TRUE(back.has_value() && back->failure.has_value());
  EXPECT_EQ(back->failure->invariant, Invariant::kOrderKept);
  EXPECT_EQ(back->failure->detail, "7 before 6, 2 wrong");
  EXPECT_EQ(back->failure->at, microseconds(9));
}

TEST(OutcomeText, read_outcome__nothing_for_half_an_answer) {
  const std::string text = write_outcome(sample());
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_FALSE(read_outcome(std::string_view(text).substr(0, size)).has_value());
}

}  // namespace
}  // namespace zhinu::sim::check

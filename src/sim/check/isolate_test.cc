#include "sim/check/isolate.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace zhinu::sim::check {
namespace {

TEST(Isolate, run_isolated__gives_back_the_answer_however_long) {
  const std::string answer(1'000'000, 'x');
  const ChildResult result = run_isolated([&] { return answer; });
  EXPECT_FALSE(result.crashed);
  EXPECT_EQ(result.answer, answer);
}

TEST(Isolate, run_isolated__an_assertion_is_a_result_with_its_text) {
  const ChildResult result = run_isolated([]() -> std::string {
    const int two = 2;
    ZHINU_ASSERT(two == 3);
    return "";
  });
  EXPECT_TRUE(result.crashed);
  EXPECT_NE(result.last_words.find("two == 3"), std::string::npos) << result.last_words;
}

TEST(Isolate, run_isolated__state_of_the_parent_is_not_changed) {
  int value = 1;
  run_isolated([&] {
    value = 2;
    return std::string("done");
  });
  EXPECT_EQ(value, 1);
}

TEST(Child, kill__ends_a_child_that_never_answers) {
  Child child([]() -> std::string {
    for (volatile bool on = true; on;) {
    }
    return "";
  });
  EXPECT_TRUE(child.running());
  child.kill();
  EXPECT_FALSE(child.running());
}

TEST(Child, move__the_new_owner_has_the_child) {
  Child first([] { return std::string("hello"); });
  Child second = std::move(first);
  while (!second.read_some()) {
  }
  EXPECT_EQ(second.finish().answer, "hello");
}

}  // namespace
}  // namespace zhinu::sim::check

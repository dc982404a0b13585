#include "base/check.h"

#include <gtest/gtest.h>

#include <csignal>

namespace zhinu {
namespace {

TEST(Check, assert__true_goes_on) {
  int evaluated = 0;
  ZHINU_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1) << "the expression is evaluated once, in every build";
}

TEST(Check, assert__is_one_statement) {
  bool reached = false;
  if (reached)
    ZHINU_ASSERT(false);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(Check, assert__takes_what_converts_to_bool) {
  const int number = 7;
  const int* pointer = &number;
  ZHINU_ASSERT(number);
  ZHINU_ASSERT(pointer);
}

TEST(CheckDeathTest, assert__false_names_expression_file_and_line) {
  EXPECT_DEATH(ZHINU_ASSERT(1 + 1 == 3),
               "zhinu: assertion failed: 1 \\+ 1 == 3 \\(.*check_test\\.cc:[0-9]+\\)");
}

TEST(CheckDeathTest, assert__false_ends_the_process_by_sigabrt) {
  EXPECT_EXIT(ZHINU_ASSERT(false), testing::KilledBySignal(SIGABRT), "assertion failed: false");
}

TEST(CheckDeathTest, assertion_failed__prints_its_arguments) {
  EXPECT_DEATH(assertion_failed("credit <= window", "core/window.cc", 42),
               "assertion failed: credit <= window \\(core/window\\.cc:42\\)");
}

}  // namespace
}  // namespace zhinu

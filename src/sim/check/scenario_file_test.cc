#include "sim/check/scenario_file.h"

#include <gtest/gtest.h>

#include "sim/check/generate.h"

namespace zhinu::sim::check {
namespace {

TEST(ScenarioFile, read_scenario__gives_back_what_was_written) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string text = write_scenario(generate(seed));
    Scenario back;
    ScenarioError error;
    ASSERT_TRUE(read_scenario(text, back, error)) << seed << " line " << error.line << ": expected "
                                                  << error.expected << ", found " << error.found;
    EXPECT_EQ(write_scenario(back), text);
  }
}

TEST(ScenarioFile, read_scenario__comments_blank_lines_and_defaults) {
  Scenario scenario;
  ScenarioError error;
  ASSERT_TRUE(
      read_scenario("# a comment\n\nseed: 7\n"
                    "fabric: {nodes: 3}\n"
                    "messages:\n"
                    "  - {id: 4, to: 2, bytes: 64 KiB, send_at: 2 ms}\r\n",
                    scenario, error))
      << error.expected << error.found;
  EXPECT_EQ(scenario.seed, 7U);
  EXPECT_EQ(scenario.fabric.nodes, 3U);
  ASSERT_EQ(scenario.messages.size(), 1U);
  EXPECT_EQ(scenario.messages[0].bytes, 65'536U);
  EXPECT_EQ(scenario.messages[0].send_at, milliseconds(2));
  EXPECT_FALSE(happens(scenario.messages[0].send_cancel));
}

struct Wrong {
  const char* text;
  std::uint32_t line;
  const char* expected;
};

class ScenarioFileWrong : public ::testing::TestWithParam<Wrong> {};

TEST_P(ScenarioFileWrong, read_scenario__names_the_line_and_what_was_expected) {
  Scenario scenario;
  ScenarioError error;
  EXPECT_FALSE(read_scenario(GetParam().text, scenario, error));
  EXPECT_EQ(error.line, GetParam().line);
  EXPECT_NE(error.expected.find(GetParam().expected), std::string::npos) << error.expected;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ScenarioFileWrong,
    ::testing::Values(Wrong{"seed: 1\nheal_at: 2\n", 2, "a duration such as 2 ms"},
                      Wrong{"host_link: {rate: 10}\n", 1, "a rate such as 400 Mbit/s"},
                      Wrong{"seal: rot13\n", 1, "one of none, crc32c, gmac"},
                      Wrong{"colour: red\n", 1, "a field that exists"},
                      Wrong{"messages:\n  - {size: 1 B}\n", 2, "a field that exists"},
                      Wrong{"messages:\n  - id: 1\n", 2, "a map in braces"},
                      Wrong{"- {id: 1}\n", 1, "a list that exists"},
                      Wrong{"seed\n", 1, "a field such as"},
                      Wrong{"link_faults:\n  - {link: n0}\n", 2, "double quotes"},
                      Wrong{"fabric: {nodes: 5000000000}\n", 1, "a whole number"},
                      Wrong{"fabric: {nodes: 65}\n", 0, "fabric nodes from 2 to 64"},
                      Wrong{"messages:\n  - {to: 9}\n", 0, "message to from 0 to 1"}));

}  // namespace
}  // namespace zhinu::sim::check

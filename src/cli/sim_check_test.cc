#include "cli/sim_check.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"

namespace zhinu::cli {
namespace {

class SimCheckTest : public ::testing::Test {
 protected:
  // Runs the command and keeps what it printed.
  int run(const SimCheckOptions& options, const OutputOptions& output) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = sim_check(options, output);
    std::fflush(stdout);
    std::fflush(stderr);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
  }

  OutputOptions plain{.color = When::kNever, .plain = true, .json = false};
  OutputOptions json{.color = When::kNever, .plain = true, .json = true};
  std::string out;
  std::string err;
};

TEST_F(SimCheckTest, sim_check__json_has_the_keys_that_are_promised) {
  SimCheckOptions options;
  options.seed = 1;
  options.seeds = 2;
  EXPECT_EQ(run(options, json), kGood) << out;
  const auto document = nlohmann::ordered_json::parse(out);
  EXPECT_EQ(document.begin().key(), "schema");
  EXPECT_EQ(document["schema"], "zhinu.check/1");
  EXPECT_EQ(document["seeds"], 2);
  EXPECT_GT(document["virtual_seconds"], 0.0);
  EXPECT_EQ(document["hash"].get<std::string>().size(), 16U);
  EXPECT_TRUE(document["failures"].empty());
}

TEST_F(SimCheckTest, sim_check__table_names_every_invariant_and_fault) {
  SimCheckOptions options;
  options.seed = 1;
  EXPECT_EQ(run(options, plain), kGood) << out;
  for (const char* text : {"bytes_right", "no_crash", "held", "virtual time", "loss", "restart",
                           "no failure in 1 seeds"})
    EXPECT_NE(out.find(text), std::string::npos) << text;
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
}

TEST_F(SimCheckTest, sim_check__a_scenario_is_replayed_and_traced) {
  SimCheckOptions options;
  options.scenario = write("two.yaml",
                           "seed: 5\nheal_at: 10 ms\nmessages:\n"
                           "  - {id: 1, to: 1, bytes: 1 KiB, receive_bytes: 1 KiB}\n");
  EXPECT_EQ(run(options, plain), kGood) << out << err;
  options.trace = true;
  EXPECT_EQ(run(options, plain), kGood);
  EXPECT_NE(out.find("send of message 1 ended: ok"), std::string::npos) << out;
}

TEST_F(SimCheckTest, sim_check__S1_no_such_file) {
  SimCheckOptions options;
  options.scenario = "/nonexistent/scenario.yaml";
  EXPECT_EQ(run(options, plain), kUsage);
  EXPECT_NE(err.find("ZHINU-S1: expected a scenario file at /nonexistent"), std::string::npos);
}

TEST_F(SimCheckTest, sim_check__S2_a_number_without_its_unit) {
  SimCheckOptions options;
  options.scenario = write("bare.yaml", "seed: 5\nheal_at: 10\n");
  EXPECT_EQ(run(options, plain), kUsage);
  EXPECT_NE(err.find("ZHINU-S2: expected heal_at: a duration such as 2 ms in line 2"),
            std::string::npos)
      << err;
}

TEST_F(SimCheckTest, sim_check__S3_a_folder_that_cannot_be_written) {
  SimCheckOptions options;
  options.seed = 1;
  options.out = "/nonexistent";
  EXPECT_EQ(run(options, plain), kUsage);
  EXPECT_NE(err.find("ZHINU-S3: expected to write"), std::string::npos) << err;
}

}  // namespace
}  // namespace zhinu::cli

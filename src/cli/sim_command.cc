#include "cli/sim_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/sim_check.h"
#include "cli/sim_figures.h"

namespace zhinu::cli {
namespace {

constexpr std::uint64_t kSeedsMax = 10'000'000;
constexpr std::uint32_t kJobsMax = 256;

void add_check(CLI::App& sim, OutputOptions& output, int& exit_code) {
  auto options = std::make_shared<SimCheckOptions>();
  CLI::App* check = sim.add_subcommand(
      "check", "Run real endpoints under random faults and hold them to their invariants");
  check->add_option("--seeds", options->seeds, "Number of seeds (default 100; 1 with --seed)")
      ->check(CLI::Range(std::uint64_t{1}, kSeedsMax));
  check->add_option("--seed", options->seed, "First seed (default 1)");
  CLI::Option* scenario =
      check->add_option("--scenario", options->scenario, "Replay this scenario file instead");
  check->add_flag("--trace", options->trace, "Print each packet, result and event of the replay")
      ->needs(scenario);
  check->add_option("--jobs", options->jobs, "Processes (default: one per processor)")
      ->check(CLI::Range(1U, kJobsMax));
  check->add_option("--out", options->out, "Folder for the scenario files of failures");
  check->callback([=, &output, &exit_code] { exit_code = sim_check(*options, output); });
}

void add_figures(CLI::App& sim, OutputOptions& output, int& exit_code) {
  CLI::App* figures =
      sim.add_subcommand("figures", "Measure incast and loss on one of four paths in virtual time");
  figures->callback([&output, &exit_code] { exit_code = sim_figures(output); });
}

}  // namespace

void add_sim_commands(CLI::App& app, OutputOptions& output, int& exit_code) {
  CLI::App* sim = app.add_subcommand("sim", "The simulator: real code under virtual time");
  sim->require_subcommand(1);
  add_check(*sim, output, exit_code);
  add_figures(*sim, output, exit_code);
}

}  // namespace zhinu::cli

#include "cli/sim_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/error.h"
#include "cli/interrupt.h"
#include "sim/check/generate.h"
#include "sim/check/scenario_file.h"
#include "sim/check/sweep.h"

namespace zhinu::cli {
namespace {

using sim::check::Failure;
using sim::check::SweepFailure;
using sim::check::SweepReport;

constexpr std::uint64_t kSeedsDefault = 100;
constexpr std::size_t kFaultsPerLine = 5;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

bool read_file(const std::string& path, std::string& text) {
  const File file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return false;
  std::array<char, 65'536> buffer;
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), count);
  }
  return std::ferror(file.get()) == 0;
}

bool write_file(const std::string& path, const std::string& text) {
  const File file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  return std::fflush(file.get()) == 0 && written;
}

double seconds_of(Duration duration) { return static_cast<double>(duration.ns) / 1e9; }
double cpu_seconds(const SweepReport& report) { return static_cast<double>(report.cpu_us) / 1e6; }

// Both runs of each seed count, as both were simulated.
double virtual_seconds_per_cpu_minute(const SweepReport& report) {
  if (report.cpu_us == 0) return 0;
  return 2 * seconds_of(report.virtual_time) / cpu_seconds(report) * 60;
}

std::string scenario_path(const SimCheckOptions& options, std::uint64_t seed) {
  const std::string folder = options.out == "." ? "" : options.out + "/";
  return fmt::format("{}zhinu-seed-{}.yaml", folder, seed);
}

std::string replay_line(std::uint64_t seed, const std::string& path) {
  return fmt::format("zhinu sim check --seed {} --scenario {}", seed, path);
}

std::string scenario_text(const SweepFailure& failure, const std::string& path) {
  return fmt::format("# {}: {}\n# Replay: {}\n{}", sim::check::name_of(failure.failure.invariant),
                     failure.failure.detail, replay_line(failure.seed, path), failure.scenario);
}

int report_unwritable(const std::string& path) {
  return report({.code = kErrorOutputUnwritable,
                 .expected = "to write the scenarios of failures to " + path,
                 .found = std::strerror(errno),
                 .next = "give another folder with --out"},
                kUsage);
}

bool broken(const SweepReport& report, sim::check::Invariant invariant) {
  for (const SweepFailure& failure : report.failures)
    if (failure.failure.invariant == invariant) return true;
  return false;
}

void print_json(const SimCheckOptions& options, const SweepReport& report) {
  nlohmann::ordered_json document;
  document["schema"] = "zhinu.check/1";
  document["seeds"] = report.seeds;
  document["virtual_seconds"] = seconds_of(report.virtual_time);
  document["hash"] = fmt::format("{:016x}", report.hash);
  document["failures"] = nlohmann::ordered_json::array();
  for (const SweepFailure& failure : report.failures) {
    const std::string path = scenario_path(options, failure.seed);
    document["failures"].push_back(
        {{"seed", failure.seed},
         {"invariant", std::string(sim::check::name_of(failure.failure.invariant))},
         {"scenario", path},
         {"detail", failure.failure.detail},
         {"at_s", seconds_of(failure.failure.at)},
         {"replay", replay_line(failure.seed, path)}});
  }
  document["messages"] = report.items;
  document["packets"] = report.packets;
  document["events"] = report.events;
  document["cpu_s"] = cpu_seconds(report);
  document["virtual_s_per_cpu_min"] = virtual_seconds_per_cpu_minute(report);
  document["interrupted"] = report.interrupted;
  nlohmann::ordered_json faults;
  for (std::size_t kind = 0; kind < sim::check::kFaultKinds; ++kind)
    faults[std::string(sim::check::kFaultNames[kind])] = report.faults[kind];
  document["faults"] = faults;
  fmt::print("{}\n", document.dump(2));
}

void print_faults(const SweepReport& report) {
  fmt::print("\n  faults\n");
  for (std::size_t kind = 0; kind < sim::check::kFaultKinds; ++kind) {
    const bool ends = kind % kFaultsPerLine == kFaultsPerLine - 1;
    fmt::print("{}{:<10}{:>8}{}", "    ", sim::check::kFaultNames[kind],
               grouped(report.faults[kind]), ends ? "\n" : "");
  }
  if (sim::check::kFaultKinds % kFaultsPerLine != 0) fmt::print("\n");
}

void print_failure(const SimCheckOptions& options, const Palette& palette,
                   const SweepFailure& failure) {
  const std::string path = scenario_path(options, failure.seed);
  fmt::print("\n  {} after {} ms of virtual time\n",
             palette.bad(fmt::format("seed {} broke {}", failure.seed,
                                     sim::check::name_of(failure.failure.invariant))),
             fixed(seconds_of(failure.failure.at) * 1e3, 3));
  fmt::print("    {}\n", failure.failure.detail);
  if (failure.attempts > 0) fmt::print("    shrunk in {} runs\n", failure.attempts);
  fmt::print("    {}\n", palette.bold(replay_line(failure.seed, path)));
}

void print_table(const SimCheckOptions& options, const OutputOptions& output,
                 const SweepReport& report) {
  const Palette palette(output);
  fmt::print("{}\n\n", palette.bold("zhinu sim check"));
  const auto row = [](const char* left, const std::string& a, const char* right,
                      const std::string& b) {
    fmt::print("  {:<14}{:>16}    {:<12}{:>16}\n", left, a, right, b);
  };
  row("seeds", grouped(report.seeds), "messages", grouped(report.items));
  row("virtual time", fixed(seconds_of(report.virtual_time), 3) + " s", "packets",
      grouped(report.packets));
  row("CPU time", fixed(cpu_seconds(report), 1) + " s", "events", grouped(report.events));
  row("speed", fixed(virtual_seconds_per_cpu_minute(report), 0) + " v.s/CPU.min", "hash",
      fmt::format("{:016x}", report.hash));
  print_faults(report);
  fmt::print("\n  invariants\n");
  for (std::size_t i = 0; i < sim::check::kInvariants; ++i) {
    const bool bad = broken(report, static_cast<sim::check::Invariant>(i));
    fmt::print("    {:<36}{}\n", sim::check::kInvariantNames[i],
               bad ? palette.bad("broken") : palette.good("held"));
  }
  for (const SweepFailure& failure : report.failures) print_failure(options, palette, failure);
  fmt::print("\n  {}\n",
             report.failures.empty()
                 ? palette.good(
                       fmt::format("no failure in {} seeds, each run twice", grouped(report.seeds)))
                 : palette.bad(fmt::format("{} of {} seeds failed", report.failures.size(),
                                           grouped(report.seeds))));
  if (report.interrupted) fmt::print("  interrupted: the rest was not run\n");
}

int finish(const SimCheckOptions& options, const OutputOptions& output, const SweepReport& report) {
  if (output.json) {
    print_json(options, report);
  } else {
    print_table(options, output, report);
  }
  if (report.interrupted) return kInterrupted;
  return report.failures.empty() ? kGood : kBadResult;
}

int replay(const SimCheckOptions& options, const OutputOptions& output) {
  std::string text;
  if (!read_file(options.scenario, text)) {
    return report({.code = kErrorScenarioUnreadable,
                   .expected = "a scenario file at " + options.scenario,
                   .found = std::strerror(errno),
                   .next = "`zhinu sim check` writes one for each seed that fails"},
                  kUsage);
  }
  sim::check::Scenario scenario;
  sim::check::ScenarioError error;
  if (!sim::check::read_scenario(text, scenario, error)) {
    const std::string where = error.line > 0
                                  ? fmt::format(" in line {} of {}", error.line, options.scenario)
                                  : " in " + options.scenario;
    return report({.code = kErrorScenarioWrong,
                   .expected = error.expected + where,
                   .found = "`" + error.found + "`",
                   .next = "docs/simulator.md describes the file"},
                  kUsage);
  }
  if (options.seed != 0) scenario.seed = options.seed;
  if (options.trace) {
    const auto traced = sim::check::run_once(
        scenario, nullptr, [](const std::string& line) { fmt::print("{}\n", line); });
    return traced.failure ? kBadResult : kGood;
  }
  SweepReport result;
  const sim::check::Outcome outcome = sim::check::run_scenario_isolated(scenario, &result.cpu_us);
  result.seeds = 1;
  result.virtual_time = outcome.elapsed;
  result.packets = outcome.packets;
  result.events = outcome.events;
  result.items = outcome.items;
  result.faults = outcome.faults;
  result.hash = outcome.hash;
  if (outcome.failure) {
    result.failures.push_back(
        {.seed = scenario.seed, .failure = *outcome.failure, .scenario = text, .attempts = 0});
  }
  return finish(options, output, result);
}

}  // namespace

int sim_check(const SimCheckOptions& options, const OutputOptions& output) {
  if (!options.scenario.empty()) return replay(options, output);
  // Known before an hour of seeds, not after it.
  if (access(options.out.c_str(), W_OK | X_OK) != 0) return report_unwritable(options.out);
  sim::check::SweepOptions sweep;
  sweep.first_seed = options.seed != 0 ? options.seed : 1;
  sweep.seeds = options.seeds != 0 ? options.seeds : options.seed != 0 ? 1 : kSeedsDefault;
  sweep.jobs = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  Interrupt interrupt;
  sweep.interrupt_fd = interrupt.fd();
  ProgressLine progress(output);
  const SweepReport result = sim::check::sweep(sweep, [&](const sim::check::SweepProgress& now) {
    progress.show(now.seeds, now.of,
                  now.shrinking      ? "shrinking a failure"
                  : now.failures > 0 ? fmt::format("{} failed", now.failures)
                                     : std::string());
  });
  progress.clear();
  interrupt.let_through();
  for (const SweepFailure& failure : result.failures) {
    const std::string path = scenario_path(options, failure.seed);
    if (!write_file(path, scenario_text(failure, path))) return report_unwritable(path);
  }
  return finish(options, output, result);
}

}  // namespace zhinu::cli

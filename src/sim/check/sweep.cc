#include "sim/check/sweep.h"

#include <poll.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/prng.h"
#include "sim/check/generate.h"
#include "sim/check/isolate.h"
#include "sim/check/outcome_text.h"
#include "sim/check/scenario_file.h"
#include "sim/check/shrink.h"

namespace zhinu::sim::check {
namespace {

Outcome outcome_of(ChildResult result) {
  if (auto outcome = read_outcome(result.answer); outcome && !result.crashed) return *outcome;
  Outcome crashed;
  crashed.failure = Failure{Invariant::kNoCrash, std::move(result.last_words), {}};
  return crashed;
}

bool readable(int fd) {
  if (fd < 0) return false;
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const SweepWatcher& watcher)
      : options_(options), watcher_(watcher), outcomes_(options.seeds), jobs_(options.jobs) {}

  SweepReport run() {
    while (finished_ < options_.seeds && !report_.interrupted) {
      start_children();
      wait();
      tell(false);
    }
    // The children that still run are ended by their destructors.
    jobs_.clear();
    shrink_failures();
    add_up();
    return report_;
  }

 private:
  struct Job {
    Child child;
    std::uint64_t index = 0;  // of the seed
  };

  void start_children() {
    for (Job& job : jobs_) {
      if (job.child.running() || next_ == options_.seeds) continue;
      job.index = next_++;
      const std::uint64_t seed = options_.first_seed + job.index;
      job.child = Child([seed] { return write_outcome(run_twice(generate(seed))); });
    }
  }

  void wait() {
    std::vector<pollfd> entries{{.fd = options_.interrupt_fd, .events = POLLIN, .revents = 0}};
    for (const Job& job : jobs_)
      entries.push_back({.fd = job.child.answer_fd(), .events = POLLIN, .revents = 0});
    if (poll(entries.data(), entries.size(), -1) < 0) return;
    report_.interrupted = entries[0].revents != 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (entries[i + 1].revents == 0 || !jobs_[i].child.read_some()) continue;
      ChildResult result = jobs_[i].child.finish();
      report_.cpu_us += result.cpu_us;
      finish(jobs_[i].index, outcome_of(std::move(result)));
    }
  }

  void finish(std::uint64_t index, Outcome outcome) {
    ++finished_;
    if (outcome.failure) {
      report_.failures.push_back({.seed = options_.first_seed + index,
                                  .failure = *outcome.failure,
                                  .scenario = {},
                                  .attempts = 0});
    }
    outcomes_[index] = std::move(outcome);
  }

  // In the order of the seeds, so that the number of jobs changes nothing.
  void shrink_failures() {
    std::sort(report_.failures.begin(), report_.failures.end(),
              [](const SweepFailure& a, const SweepFailure& b) { return a.seed < b.seed; });
    std::uint32_t shrunk = 0;
    for (SweepFailure& failure : report_.failures) {
      Scenario scenario = generate(failure.seed);
      if (shrunk++ < options_.shrunk_failures_max && !readable(options_.interrupt_fd)) {
        tell(true);
        scenario =
            shrink(scenario, still_fails(failure), {options_.shrink_attempts}, failure.attempts);
      }
      scenario.invariant = std::string(name_of(failure.failure.invariant));
      failure.scenario = write_scenario(scenario);
    }
  }

  // Fails the same invariant. The detail is that of the smallest scenario that does.
  StillFails still_fails(SweepFailure& kept) {
    return [this, &kept](const Scenario& scenario) {
      if (readable(options_.interrupt_fd)) return false;
      const Outcome outcome = run_scenario_isolated(scenario);
      if (!outcome.failure || outcome.failure->invariant != kept.failure.invariant) return false;
      kept.failure = *outcome.failure;
      return true;
    };
  }

  void add_up() {
    for (const std::optional<Outcome>& outcome : outcomes_) {
      if (!outcome) continue;
      ++report_.seeds;
      report_.virtual_time = report_.virtual_time + outcome->elapsed;
      report_.packets += outcome->packets;
      report_.events += outcome->events;
      report_.items += outcome->items;
      for (std::size_t kind = 0; kind < kFaultKinds; ++kind)
        report_.faults[kind] += outcome->faults[kind];
      report_.hash = mix64(report_.hash, outcome->hash);
    }
  }

  void tell(bool shrinking) const {
    if (watcher_) watcher_({finished_, options_.seeds, report_.failures.size(), shrinking});
  }

  SweepOptions options_;
  const SweepWatcher& watcher_;
  std::vector<std::optional<Outcome>> outcomes_;  // by seed
  std::vector<Job> jobs_;
  std::uint64_t next_ = 0;
  std::uint64_t finished_ = 0;
  SweepReport report_;
};

}  // namespace

SweepReport sweep(const SweepOptions& options, const SweepWatcher& watcher) {
  ZHINU_ASSERT(options.jobs > 0);
  return Sweep(options, watcher).run();
}

Outcome run_scenario_isolated(const Scenario& scenario, std::uint64_t* cpu_us) {
  ChildResult result = run_isolated([&] { return write_outcome(run_twice(scenario)); });
  if (cpu_us != nullptr) *cpu_us += result.cpu_us;
  return outcome_of(std::move(result));
}

}  // namespace zhinu::sim::check

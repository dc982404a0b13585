#include "sim/check/shrink.h"

#include <algorithm>
#include <utility>

namespace zhinu::sim::check {
namespace {

class Shrinker {
 public:
  Shrinker(Scenario scenario, const StillFails& still_fails, const ShrinkOptions& options)
      : best_(std::move(scenario)), still_fails_(still_fails), options_(options) {}

  Scenario run() {
    bool smaller = true;
    while (smaller && attempts_ < options_.attempts_max) {
      smaller = false;
      smaller |= thin_out(&Scenario::messages);
      smaller |= thin_out(&Scenario::actions);
      smaller |= thin_out(&Scenario::link_faults);
      smaller |= thin_out(&Scenario::partitions);
      smaller |= thin_out(&Scenario::accesses);
      smaller |= drop_unused();
      smaller |= simplify();
    }
    return best_;
  }
  std::uint32_t attempts() const { return attempts_; }

 private:
  bool attempt(const Scenario& candidate) {
    if (attempts_ == options_.attempts_max) return false;
    ++attempts_;
    if (!still_fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  // Leaves out pieces of one list: first halves, at last single entries.
  template <class T>
  bool thin_out(std::vector<T> Scenario::*list) {
    bool any = false;
    std::size_t piece = ((best_.*list).size() + 1) / 2;
    if ((best_.*list).empty()) return false;
    Scenario none = best_;
    (none.*list).clear();
    if (attempt(none)) return true;
    while (piece > 0) {
      for (std::size_t begin = 0; begin < (best_.*list).size();) {
        Scenario candidate = best_;
        std::vector<T>& entries = candidate.*list;
        const auto first = entries.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(piece, entries.size() - begin);
        entries.erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (attempt(candidate)) {
          any = true;
        } else {
          begin += piece;
        }
      }
      piece /= 2;
    }
    return any;
  }

  // Regions that no access names, and nodes behind the last that does anything.
  bool drop_unused() {
    Scenario candidate = best_;
    std::erase_if(candidate.regions, [&](const Region& region) {
      return std::none_of(candidate.accesses.begin(), candidate.accesses.end(),
                          [&](const Access& access) { return access.region == region.id; });
    });
    std::uint32_t last = 1;
    for (const Message& m : candidate.messages) last = std::max({last, m.from, m.to});
    for (const Access& a : candidate.accesses) last = std::max(last, a.from);
    for (const Region& r : candidate.regions) last = std::max(last, r.node);
    for (const Action& a : candidate.actions) last = std::max({last, a.node, a.peer});
    candidate.fabric.nodes = std::min(candidate.fabric.nodes, last + 1);
    const bool same = candidate.fabric.nodes == best_.fabric.nodes &&
                      candidate.regions.size() == best_.regions.size();
    return !same && attempt(candidate);
  }

  template <class Change>
  bool change(Change apply) {
    Scenario candidate = best_;
    if (!apply(candidate)) return false;
    return attempt(candidate);
  }

  bool simplify() {
    bool any = false;
    any |= change(
        [](Scenario& s) { return !(std::exchange(s.misbehaviour, {}) == MisbehaviourRates{}); });
    any |= change([](Scenario& s) {
      const bool two = s.endpoints.size() > 1;
      s.endpoints.resize(1);
      return two;
    });
    any |= change(
        [](Scenario& s) { return std::exchange(s.fabric.paths, s.fabric.nics) > s.fabric.nics; });
    any |= change([](Scenario& s) {
      for (Action& action : s.actions) action.nic = 0;
      s.fabric.paths = std::max(s.fabric.paths / 2, 1U);
      return std::exchange(s.fabric.nics, 1) > 1;
    });
    any |= change([](Scenario& s) { return std::exchange(s.fabric.spines, 1) > 1; });
    any |= change([](Scenario& s) {
      // Without a seal a corrupting link breaks every invariant by right.
      for (const LinkFault& fault : s.link_faults)
        if (fault.faults.corrupt_ppm > 0) return false;
      return std::exchange(s.seal, core::SealMode::kNone) != core::SealMode::kNone;
    });
    any |= change([](Scenario& s) {
      const Duration before = s.heal_at;
      s.heal_at = Duration{s.heal_at.ns / 2};
      return before > milliseconds(2);
    });
    any |= halve_sizes();
    return any;
  }

  bool halve_sizes() {
    return change([](Scenario& s) {
      bool any = false;
      for (Message& message : s.messages) {
        if (message.bytes < 64 * 1024) continue;
        message.receive_bytes -= std::min(message.receive_bytes, message.bytes / 2);
        message.bytes -= message.bytes / 2;
        any = true;
      }
      return any;
    });
  }

  Scenario best_;
  const StillFails& still_fails_;
  ShrinkOptions options_;
  std::uint32_t attempts_ = 0;
};

}  // namespace

Scenario shrink(const Scenario& scenario, const StillFails& still_fails,
                const ShrinkOptions& options, std::uint32_t& attempts) {
  Shrinker shrinker(scenario, still_fails, options);
  Scenario smallest = shrinker.run();
  attempts = shrinker.attempts();
  return smallest;
}

}  // namespace zhinu::sim::check

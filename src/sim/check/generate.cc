#include "sim/check/generate.h"

#include <algorithm>

#include "sim/check/generate_parts.h"

namespace zhinu::sim::check {
namespace {

enum Stream : std::uint64_t { kShape = 101, kOptions, kWork, kAccesses, kFaults, kActions };

constexpr std::uint64_t kGbit = 1'000'000'000;
constexpr std::uint64_t kKiB = 1'024;
constexpr std::uint64_t kMiB = 1'024 * kKiB;

std::uint32_t node_count(Prng& dice) {
  const std::uint64_t roll = dice.below(100);
  if (roll < 60) return static_cast<std::uint32_t>(dice.between(2, 4));
  if (roll < 95) return static_cast<std::uint32_t>(dice.between(5, 16));
  return static_cast<std::uint32_t>(dice.between(17, 64));
}

LinkOptions link_options(Prng& dice) {
  LinkOptions link;
  link.rate_bits_per_s =
      pick<std::uint64_t>(dice, std::array{1 * kGbit, 10 * kGbit, 25 * kGbit, 100 * kGbit});
  link.delay = one_in(dice, 8) ? duration_between(dice, microseconds(50), milliseconds(1))
                               : duration_between(dice, nanoseconds(300), microseconds(10));
  link.queue_bytes = pick<std::uint64_t>(dice, std::array{64 * kKiB, 256 * kKiB, 1 * kMiB});
  link.ecn_bytes =
      link.queue_bytes / pick<std::uint64_t>(dice, std::array<std::uint64_t, 3>{1, 4, 8});
  return link;
}

void add_fabric(Prng& dice, Scenario& scenario) {
  ScenarioFabric& fabric = scenario.fabric;
  fabric.nodes = node_count(dice);
  fabric.nics = one_in(dice, 2) ? 1 : static_cast<std::uint32_t>(dice.between(2, 4));
  if (fabric.nodes > 16) fabric.nics = 1;
  const std::uint64_t paths_max = fabric.nodes > 16 ? 2 : 8;
  fabric.paths =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(fabric.nics, dice.between(1, paths_max)));
  fabric.spines = static_cast<std::uint32_t>(dice.between(1, 8));
  fabric.nodes_per_pod = pick<std::uint32_t>(dice, std::array<std::uint32_t, 3>{1, 2, 4});
  fabric.packet_bytes =
      pick<std::uint32_t>(dice, std::array<std::uint32_t, 4>{1'472, 2'048, 4'096, 8'972});
  fabric.host_link = link_options(dice);
  fabric.spine_link = link_options(dice);
}

Plan make_plan(Prng& dice, const Scenario& scenario) {
  Plan plan;
  plan.work_time = one_in(dice, 3) ? duration_between(dice, milliseconds(300), milliseconds(1'900))
                                   : duration_between(dice, milliseconds(20), milliseconds(300));
  const std::uint64_t most = scenario.fabric.nodes > 16 ? 150 : one_in(dice, 10) ? 2'000 : 400;
  plan.messages = static_cast<std::uint32_t>(dice.between(10, most));
  plan.bytes_left = scenario.fabric.nodes > 16 ? 2 * kMiB : 16 * kMiB;
  return plan;
}

}  // namespace

Scenario generate(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  Prng shape(seed, kShape);
  add_fabric(shape, scenario);
  scenario.seal = pick<core::SealMode>(
      shape, std::array{core::SealMode::kNone, core::SealMode::kCrc32c, core::SealMode::kCrc32c,
                        core::SealMode::kGmac, core::SealMode::kGmac});
  if (one_in(shape, 3)) {
    scenario.misbehaviour.short_send_ppm = static_cast<std::uint32_t>(shape.below(100'000));
    scenario.misbehaviour.late_completion_ppm = static_cast<std::uint32_t>(shape.below(300'000));
    scenario.misbehaviour.full_pool_ppm = static_cast<std::uint32_t>(shape.below(20'000));
  }
  Plan plan = make_plan(shape, scenario);
  scenario.communicators = static_cast<std::uint32_t>(shape.between(1, 12));
  scenario.heal_at = plan.work_time + milliseconds(5);

  Prng options(seed, kOptions);
  add_endpoint_options(options, scenario);
  Prng work(seed, kWork);
  add_messages(work, plan, scenario);
  Prng accesses(seed, kAccesses);
  add_accesses(accesses, plan, scenario);
  Prng faults(seed, kFaults);
  add_faults(faults, plan, scenario);
  Prng actions(seed, kActions);
  add_actions(actions, plan, scenario);
  return scenario;
}

}  // namespace zhinu::sim::check

#include "sim/check/generate_parts.h"

namespace zhinu::sim::check {
namespace {

constexpr std::uint32_t kKiB = 1'024;

std::uint32_t number(Prng& dice, std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint32_t>(dice.between(low, high));
}

// Pools so small that they are often full.
void shrink_pools(Prng& dice, core::EndpointOptions& options) {
  if (one_in(dice, 3)) options.sends_max = number(dice, 8, 64);
  if (one_in(dice, 3)) options.receives_max = number(dice, 16, 64);
  if (one_in(dice, 3)) options.sent_packets_max = number(dice, 64, 512);
  if (one_in(dice, 3)) options.channels_max = number(dice, 8, 64);
  if (one_in(dice, 3)) options.held_blocks_max = number(dice, 16, 128);
  if (one_in(dice, 3)) options.segment_maps_max = number(dice, 1, 4);
  if (one_in(dice, 3)) options.refusals_max = number(dice, 4, 32);
  if (one_in(dice, 3)) options.events_max = number(dice, 16, 64);
}

void vary_eager(Prng& dice, core::EndpointOptions& options) {
  if (one_in(dice, 3)) options.eager_bytes_max = number(dice, 256, 8 * kKiB);
  if (one_in(dice, 3)) options.eager_budget_bytes = number(dice, 1 * kKiB, 64 * kKiB);
  if (one_in(dice, 3)) options.communicator_reserve_bytes = number(dice, 0, 2 * kKiB);
  if (one_in(dice, 3)) options.announced_max = number(dice, 1, 16);
  if (one_in(dice, 3)) options.unscheduled_bytes = number(dice, 0, 256 * kKiB);
  if (one_in(dice, 3)) options.grant_window_bytes = number(dice, 64 * kKiB, 4'096 * kKiB);
  if (one_in(dice, 4)) options.message_span_bytes = 128 * kKiB * number(dice, 1, 16);
  if (one_in(dice, 4)) options.train_bytes = number(dice, 4 * kKiB, 128 * kKiB);
}

void vary_times(Prng& dice, core::EndpointOptions& options) {
  if (one_in(dice, 3)) options.ack_delay = duration_below(dice, microseconds(200));
  if (one_in(dice, 3)) options.ack_bytes_max = number(dice, 2 * kKiB, 256 * kKiB);
  if (one_in(dice, 4))
    options.initial_rtt = duration_between(dice, microseconds(20), milliseconds(5));
  if (one_in(dice, 2)) {
    options.path.hold_first = duration_between(dice, milliseconds(5), milliseconds(300));
    options.path.hold_max = options.path.hold_first * 8;
    options.path.calm = seconds(1);
  }
  if (one_in(dice, 4)) {
    options.path.suspicion_floor = duration_between(dice, microseconds(200), milliseconds(5));
    options.path.probe_timeout_floor = options.path.suspicion_floor;
  }
  if (one_in(dice, 3))
    options.probe_timeout_max = duration_between(dice, milliseconds(20), seconds(1));
  if (one_in(dice, 3)) {
    options.credit_probe_first = duration_between(dice, milliseconds(1), milliseconds(20));
    options.credit_probe_max = options.credit_probe_first * 16;
  }
  if (one_in(dice, 8)) options.silent_notice = duration_between(dice, milliseconds(5), seconds(1));
  if (one_in(dice, 3)) options.rekey_packets = dice.between(500, 5'000);
  if (one_in(dice, 8))
    options.rekey_interval = duration_between(dice, milliseconds(20), seconds(1));
}

void vary_window(Prng& dice, core::EndpointOptions& options) {
  if (one_in(dice, 3)) options.window.initial_bytes = number(dice, 16 * kKiB, 2'048 * kKiB);
  if (one_in(dice, 6)) options.window.min_bytes = number(dice, 16 * kKiB, 32 * kKiB);
  if (options.window.initial_bytes < options.window.min_bytes)
    options.window.initial_bytes = options.window.min_bytes;
  if (one_in(dice, 4))
    options.window.target_delay = duration_between(dice, microseconds(10), microseconds(500));
}

}  // namespace

void add_endpoint_options(Prng& dice, Scenario& scenario) {
  scenario.endpoints.clear();
  // Two kinds of endpoint meet in a third of the scenarios.
  const std::uint32_t kinds = one_in(dice, 3) ? 2 : 1;
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    core::EndpointOptions options;
    // The arena is taken for each endpoint at the start: what a scenario of this size
    // can use, not what a production node wants.
    options.sends_max = 2'048;
    options.receives_max = 2'048;
    options.sent_packets_max = 4'096;
    options.held_blocks_max = 1'024;
    options.channels_max = 512;
    options.segment_maps_max = 32;
    if (one_in(dice, 2)) shrink_pools(dice, options);
    if (one_in(dice, 2)) vary_eager(dice, options);
    if (one_in(dice, 2)) vary_times(dice, options);
    if (one_in(dice, 2)) vary_window(dice, options);
    scenario.endpoints.push_back(options);
  }
}

}  // namespace zhinu::sim::check

#include <benchmark/benchmark.h>

#include "core/deadline_wheel.h"

namespace zhinu::core {
namespace {

// An item that is done long before its deadline, beside a thousand others.
void DeadlineWheel_insert_and_remove(benchmark::State& state) {
  DeadlineWheel wheel(1'024);
  Instant now = Instant{} + seconds(1);
  for (std::uint32_t entry = 1; entry < 1'000; ++entry) {
    wheel.insert(entry, now + seconds(3'600) + milliseconds(entry));
  }
  for ([[maybe_unused]] auto _ : state) {
    now.ns += 500;
    wheel.insert(0, now + seconds(30));
    wheel.remove(0);
    benchmark::DoNotOptimize(wheel.pop_expired(now));
  }
}
BENCHMARK(DeadlineWheel_insert_and_remove);

void DeadlineWheel_insert_and_expire(benchmark::State& state) {
  DeadlineWheel wheel(1'024);
  Instant now = Instant{} + seconds(1);
  for ([[maybe_unused]] auto _ : state) {
    for (std::uint32_t entry = 0; entry < 1'000; ++entry) {
      wheel.insert(entry, now + milliseconds(entry % 500));
    }
    now = now + seconds(1);
    while (wheel.pop_expired(now) != DeadlineWheel::kNone) {
    }
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(DeadlineWheel_insert_and_expire);

}  // namespace
}  // namespace zhinu::core

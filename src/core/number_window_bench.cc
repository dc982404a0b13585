#include <benchmark/benchmark.h>

#include "core/number_window.h"

namespace zhinu::core {
namespace {

void NumberWindow_gate_and_mark_in_order(benchmark::State& state) {
  NumberWindow window;
  std::uint64_t number = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(window.look(number));
    benchmark::DoNotOptimize(window.gate(number, 1));
    window.mark(number++);
  }
}
BENCHMARK(NumberWindow_gate_and_mark_in_order);

// Runs of 64 that arrive last number first: the floor moves by whole words.
void NumberWindow_mark_reversed_runs(benchmark::State& state) {
  NumberWindow window;
  std::uint64_t base = 0;
  std::uint64_t left = 64;
  for ([[maybe_unused]] auto _ : state) {
    window.mark(base + --left);
    if (left > 0) continue;
    base += 64;
    left = 64;
  }
}
BENCHMARK(NumberWindow_mark_reversed_runs);

}  // namespace
}  // namespace zhinu::core

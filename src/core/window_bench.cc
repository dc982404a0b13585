#include <benchmark/benchmark.h>

#include "core/window.h"

namespace zhinu::core {
namespace {

void Window_packet_there_and_back(benchmark::State& state) {
  Window window{WindowOptions{}};
  Instant now;
  for ([[maybe_unused]] auto _ : state) {
    now.ns += 700;
    window.on_sent(8'972);
    benchmark::DoNotOptimize(window.room());
    window.on_acked(now, 8'972, microseconds(20), microseconds(30), 0);
  }
}
BENCHMARK(Window_packet_there_and_back);

}  // namespace
}  // namespace zhinu::core

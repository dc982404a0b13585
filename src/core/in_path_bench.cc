#include <benchmark/benchmark.h>

#include "core/in_path.h"

namespace zhinu::core {
namespace {

void InPath_packet_in_order(benchmark::State& state) {
  InPath path;
  std::uint64_t number = 0;
  Instant now;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(path.check(number));
    path.on_packet(now, number++, 9'000, true, false);
    now.ns += 700;
    if (number % 16 == 0) path.on_ack_sent();
    benchmark::DoNotOptimize(path.ack_deadline(microseconds(20), 131'072));
  }
}
BENCHMARK(InPath_packet_in_order);

void InPath_packet_with_every_tenth_missing(benchmark::State& state) {
  InPath path;
  std::uint64_t number = 0;
  Instant now;
  for ([[maybe_unused]] auto _ : state) {
    number += number % 10 == 8 ? 2 : 1;
    benchmark::DoNotOptimize(path.check(number));
    path.on_packet(now, number, 9'000, true, false);
  }
}
BENCHMARK(InPath_packet_with_every_tenth_missing);

// With a number left out now and then, as every sender does.
void InPath_four_ranges(benchmark::State& state) {
  InPath path;
  for (std::uint64_t number = 0; number < 3'000; ++number) {
    if (number % 290 != 7) path.on_packet({}, number, 9'000, true, false);
  }
  std::array<wire::AckRange, 4> out;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(path.ranges(out));
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(InPath_four_ranges);

}  // namespace
}  // namespace zhinu::core

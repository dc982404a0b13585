#include <benchmark/benchmark.h>

#include "core/path_table.h"

namespace zhinu::core {
namespace {

constexpr std::uint32_t kPacket = 8'972;

PathTable table_of(std::int64_t paths) {
  PathTable table({}, microseconds(20), 64 * 1024, PathTable::kPathsMax, 1);
  for (std::int64_t i = 0; i < paths; ++i) static_cast<void>(table.add({}));
  return table;
}

void PathTable_choose(benchmark::State& state) {
  PathTable table = table_of(state.range(0));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(table.choose(kPacket));
}
BENCHMARK(PathTable_choose)->Arg(1)->Arg(8)->Arg(64);

void PathTable_choose_a_train(benchmark::State& state) {
  PathTable table = table_of(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(table.choose(kPacket));
    table.end_train();
  }
}
BENCHMARK(PathTable_choose_a_train)->Arg(1)->Arg(8)->Arg(64);

void PathTable_next_number(benchmark::State& state) {
  PathTable table = table_of(1);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(table.next_number(0));
}
BENCHMARK(PathTable_next_number);

void PathTable_best(benchmark::State& state) {
  PathTable table = table_of(8);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(table.best());
}
BENCHMARK(PathTable_best);

// One packet chosen, numbered, sent and acknowledged by an ACK of its own, and the timer asked.
void PathTable_packet_there_and_back(benchmark::State& state) {
  PathTable table = table_of(state.range(0));
  Instant now;
  for ([[maybe_unused]] auto _ : state) {
    now.ns += 700;
    const std::uint8_t path = table.choose(kPacket).value();
    benchmark::DoNotOptimize(table.next_number(path));
    table.on_sent(now, path, kPacket);
    table.on_ack(now, path, kPacket, 1, now - microseconds(20), Duration{}, 0);
    table.handle_timeout(now);
    benchmark::DoNotOptimize(table.timeout());
  }
}
BENCHMARK(PathTable_packet_there_and_back)->Arg(1)->Arg(8)->Arg(64);

void PathTable_on_ack_of_16_packets(benchmark::State& state) {
  PathTable table = table_of(8);
  Instant now;
  std::uint8_t path = 0;
  for ([[maybe_unused]] auto _ : state) {
    now.ns += 11'000;
    table.on_sent(now, path, kPacket);
    table.on_ack(now, path, kPacket, 16, now - microseconds(20), microseconds(3), 0);
    path = static_cast<std::uint8_t>((path + 1) % 8);
  }
}
BENCHMARK(PathTable_on_ack_of_16_packets);

}  // namespace
}  // namespace zhinu::core

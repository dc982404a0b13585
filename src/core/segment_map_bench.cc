#include <benchmark/benchmark.h>

#include <vector>

#include "core/segment_map.h"

namespace zhinu::core {
namespace {

constexpr std::uint64_t kSegment = 70 * wire::kSegmentUnitBytes;  // 8,960 bytes
constexpr std::uint64_t kMessage = 1ULL << 62;

void SegmentMap_take_in_order(benchmark::State& state) {
  std::vector<std::uint64_t> words(256);
  SegmentMap map(words, kMessage);
  std::uint64_t offset = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(map.check(offset, kSegment));
    map.take(offset, kSegment,
             [](std::uint64_t at, std::uint64_t bytes) { benchmark::DoNotOptimize(at + bytes); });
    offset += kSegment;
  }
}
BENCHMARK(SegmentMap_take_in_order);

// Two paths of different length: every other segment arrives 16 segments late.
void SegmentMap_take_over_two_paths(benchmark::State& state) {
  std::vector<std::uint64_t> words(256);
  SegmentMap map(words, kMessage);
  std::uint64_t turn = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t segment = turn % 2 == 0 ? turn : turn < 32 ? turn : turn - 32;
    const std::uint64_t offset = segment * kSegment;
    benchmark::DoNotOptimize(map.check(offset, kSegment));
    map.take(offset, kSegment,
             [](std::uint64_t at, std::uint64_t bytes) { benchmark::DoNotOptimize(at + bytes); });
    ++turn;
  }
}
BENCHMARK(SegmentMap_take_over_two_paths);

}  // namespace
}  // namespace zhinu::core

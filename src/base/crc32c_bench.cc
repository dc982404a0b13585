// CRC32C by size and kernel.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/crc32c.h"

namespace zhinu {
namespace {

void checksum(benchmark::State& state, Crc32cKernel kernel) {
  if (!crc32c_kernel_available(kernel)) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::uint32_t crc = 0;
  for ([[maybe_unused]] auto _ : state) {
    crc = crc32c(kernel, crc, bytes);
    benchmark::DoNotOptimize(crc);
  }
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(state.range(0)) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int bytes : {24, 64, 512, 1424, 4096, 8192, 65000}) bench->Arg(bytes);
}

BENCHMARK_CAPTURE(checksum, table, Crc32cKernel::kTable)->Apply(sizes);
BENCHMARK_CAPTURE(checksum, sse42, Crc32cKernel::kSse42)->Apply(sizes);

}  // namespace
}  // namespace zhinu

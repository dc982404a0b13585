// GMAC by size, kernel and shape. `seal` cuts the bytes as a packet is cut: the
// 20-byte header, then the rest behind the tag field; `whole` is one piece.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "base/aead.h"

namespace zhinu {
namespace {

constexpr std::size_t kHeaderBytes = 20;

void tags(benchmark::State& state, GmacKernel kernel, std::size_t head_bytes) {
  if (!gmac_kernel_available(kernel)) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const GmacKey key(std::array<std::byte, kGmacKeyBytes>{}, kernel);
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  const ByteSpan head = ByteSpan(bytes).first(head_bytes);
  const ByteSpan body = ByteSpan(bytes).subspan(head_bytes);
  Nonce nonce{1, 0};
  for ([[maybe_unused]] auto _ : state) {
    ++nonce.counter;
    Tag tag = key.tag(nonce, head, body);
    benchmark::DoNotOptimize(tag);
  }
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(state.range(0)) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void seal(benchmark::State& state, GmacKernel kernel) { tags(state, kernel, kHeaderBytes); }
void whole(benchmark::State& state, GmacKernel kernel) { tags(state, kernel, 0); }

void make_key(benchmark::State& state, GmacKernel kernel) {
  if (!gmac_kernel_available(kernel)) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  std::array<std::byte, kGmacKeyBytes> bytes{};
  for ([[maybe_unused]] auto _ : state) {
    bytes[0] ^= std::byte{1};
    const GmacKey key(bytes, kernel);
    benchmark::DoNotOptimize(&key);
    benchmark::ClobberMemory();
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int bytes : {24, 64, 512, 1424, 4096, 8192, 65000}) bench->Arg(bytes);
}

BENCHMARK_CAPTURE(seal, evp, GmacKernel::kEvp)->Apply(sizes);
BENCHMARK_CAPTURE(seal, pclmul, GmacKernel::kPclmul)->Apply(sizes);
BENCHMARK_CAPTURE(seal, vpclmul512, GmacKernel::kVpclmul512)->Apply(sizes);
BENCHMARK_CAPTURE(whole, evp, GmacKernel::kEvp)->Apply(sizes);
BENCHMARK_CAPTURE(whole, pclmul, GmacKernel::kPclmul)->Apply(sizes);
BENCHMARK_CAPTURE(whole, vpclmul512, GmacKernel::kVpclmul512)->Apply(sizes);
BENCHMARK_CAPTURE(make_key, evp, GmacKernel::kEvp);
BENCHMARK_CAPTURE(make_key, pclmul, GmacKernel::kPclmul);

}  // namespace
}  // namespace zhinu

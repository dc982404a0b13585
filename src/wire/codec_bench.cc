#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "wire/codec.h"

namespace zhinu::wire {
namespace {

constexpr std::size_t kCopyAll = std::numeric_limits<std::size_t>::max();

// A packet of `frames` messages, or one segment, of `payload_bytes` each.
struct Fixture {
  Fixture(FrameKind kind, std::size_t frames, std::size_t payload_bytes)
      : payload(payload_bytes, std::byte{0x5a}) {
    for (std::size_t i = 0; i < frames; ++i) {
      Frame& frame = packet.add(kind);
      frame.number = i;
      frame.communicator = 7;
      frame.length = payload.size();
      frame.payload = payload.data();
    }
  }

  std::vector<std::byte> payload;
  Packet packet;
  std::array<std::byte, kPacketBytesMax> bytes{};
};

void report_per_frame(benchmark::State& state, const Fixture& fixture) {
  state.counters["frame"] =
      benchmark::Counter(fixture.packet.frame_count, benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void encode_bench(benchmark::State& state, FrameKind kind, std::size_t tail_bytes_min) {
  Fixture fixture(kind, static_cast<std::size_t>(state.range(0)),
                  static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) {
    auto encoded = encode(fixture.packet, fixture.bytes, tail_bytes_min);
    benchmark::DoNotOptimize(encoded);
    benchmark::ClobberMemory();
  }
  report_per_frame(state, fixture);
}

void decode_bench(benchmark::State& state, FrameKind kind) {
  Fixture fixture(kind, static_cast<std::size_t>(state.range(0)),
                  static_cast<std::size_t>(state.range(1)));
  const auto encoded = encode(fixture.packet, fixture.bytes, kCopyAll);
  const ByteSpan datagram(fixture.bytes.data(), encoded.value().head_bytes);
  Packet decoded;
  for (auto _ : state) {
    std::size_t packet_bytes = 0;
    Status status = decode_header(datagram, decoded.header, packet_bytes);
    if (status.ok()) status = decode_frames(datagram.first(packet_bytes), decoded);
    if (!status.ok()) state.SkipWithError("a packet of our own was refused");
    benchmark::DoNotOptimize(decoded.frame_count);
    benchmark::ClobberMemory();
  }
  report_per_frame(state, fixture);
}

BENCHMARK_CAPTURE(encode_bench, message, FrameKind::kMessage, kCopyAll)
    ->ArgNames({"frames", "bytes"})
    ->Args({1, 8})
    ->Args({64, 64});
BENCHMARK_CAPTURE(encode_bench, segment_copied, FrameKind::kSegment, kCopyAll)
    ->ArgNames({"frames", "bytes"})
    ->Args({1, 8192});
BENCHMARK_CAPTURE(encode_bench, segment_gathered, FrameKind::kSegment, 1024)
    ->ArgNames({"frames", "bytes"})
    ->Args({1, 8192});
BENCHMARK_CAPTURE(decode_bench, message, FrameKind::kMessage)
    ->ArgNames({"frames", "bytes"})
    ->Args({1, 8})
    ->Args({64, 64});
BENCHMARK_CAPTURE(decode_bench, segment, FrameKind::kSegment)
    ->ArgNames({"frames", "bytes"})
    ->Args({1, 8192});

}  // namespace
}  // namespace zhinu::wire

// The transport core without a network: cost of a message through two endpoints in
// one thread, from post to completion at the peer. docs/measurements.md has the
// figures asked and seen.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/micro/two_cores.h"

namespace zhinu::bench {
namespace {

core::SealMode seal_of(const benchmark::State& state) {
  return state.range(0) == 0 ? core::SealMode::kNone : core::SealMode::kGmac;
}

constexpr std::uint32_t kJumboPacketBytes = 8'972;

// One 8-byte message at a time: post, packet, match, completion at the receiver.
void core_message_8(benchmark::State& state) {
  TwoCores cores(core::EndpointOptions{}, seal_of(state), 1, kJumboPacketBytes);
  cores.create_communicators(1);
  std::vector<std::byte> from(8);
  std::vector<std::byte> to(8);
  std::array<core::Completion, 64> done;
  for (auto _ : state) {
    const auto receive = cores.side(1).receive(
        cores.now(), {.peer = cores.peer(1), .communicator = {1}, .tag = 7, .buffer = to});
    const auto send = cores.side(0).send(
        cores.now(), {.peer = cores.peer(0), .communicator = {1}, .tag = 7, .data = from});
    if (!receive.ok() || !send.ok()) return state.SkipWithError("post refused");
    cores.deliver(0);
    if (cores.side(1).poll_completions(done) != 1) return state.SkipWithError("not delivered");
    // ACKs flow as they would: after 20 us of messages at this pace.
    cores.tick(nanoseconds(500));
    cores.deliver(1);
    cores.side(0).poll_completions(done);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(core_message_8)->ArgName("sealed")->Arg(0)->Arg(1);

// 64-byte messages over 64 communicators, 64 outstanding each, coalesced.
void core_messages_64(benchmark::State& state) {
  constexpr std::uint16_t kCommunicators = 64;
  constexpr std::uint32_t kWindow = 16;
  core::EndpointOptions options;
  TwoCores cores(options, seal_of(state), 1, kJumboPacketBytes);
  cores.create_communicators(kCommunicators);
  std::vector<std::byte> from(64);
  std::vector<std::byte> to(64);
  std::array<core::Completion, 256> done;
  std::int64_t received = 0;
  for (auto _ : state) {
    for (std::uint16_t id = 1; id <= kCommunicators; ++id) {
      for (std::uint32_t i = 0; i < kWindow; ++i) {
        const auto receive = cores.side(1).receive(
            cores.now(), {.peer = cores.peer(1), .communicator = {id}, .tag = 7, .buffer = to});
        const auto send = cores.side(0).send(
            cores.now(), {.peer = cores.peer(0), .communicator = {id}, .tag = 7, .data = from});
        if (!receive.ok() || !send.ok()) return state.SkipWithError("post refused");
      }
    }
    std::size_t round = 0;
    while (round < kCommunicators * kWindow) {
      cores.deliver(0);
      for (std::size_t n = 1; n != 0;) round += n = cores.side(1).poll_completions(done);
      cores.tick(microseconds(25));
      cores.deliver(1);
      for (std::size_t n = 1; n != 0;) n = cores.side(0).poll_completions(done);
    }
    received += static_cast<std::int64_t>(round);
  }
  state.SetItemsProcessed(received);
}
BENCHMARK(core_messages_64)->ArgName("sealed")->Arg(0)->Arg(1);

// 8 MiB messages, announced and granted, in segments of 8 KiB.
void core_message_8_mib(benchmark::State& state) {
  constexpr std::size_t kBytes = 8 << 20;
  // 8 KiB of payload and what stands before it.
  constexpr std::uint32_t kPacketBytes = 8'192 + 52 + 64;
  core::EndpointOptions options;
  options.window.initial_bytes = 4 << 20;
  TwoCores cores(options, seal_of(state), 1, kPacketBytes);
  cores.create_communicators(1);
  std::vector<std::byte> from(kBytes);
  std::vector<std::byte> to(kBytes);
  std::array<core::Completion, 64> done;
  for (auto _ : state) {
    const auto receive = cores.side(1).receive(
        cores.now(), {.peer = cores.peer(1), .communicator = {1}, .tag = 7, .buffer = to});
    const auto send = cores.side(0).send(
        cores.now(), {.peer = cores.peer(0), .communicator = {1}, .tag = 7, .data = from});
    if (!receive.ok() || !send.ok()) return state.SkipWithError("post refused");
    while (cores.side(1).poll_completions(done) == 0) {
      cores.deliver(0);
      cores.deliver(1);
      cores.tick(microseconds(5));
    }
    cores.tick(microseconds(25));
    cores.exchange();
    cores.side(0).poll_completions(done);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}
BENCHMARK(core_message_8_mib)->ArgName("sealed")->Arg(0)->Arg(1);

// One of two paths dies with about 10,000 segments in flight: from the verdict until
// everything that was on it stands ready on the other path.
void core_path_death(benchmark::State& state) {
  constexpr std::uint32_t kPacketBytes = 1'024 + 52 + 64;
  constexpr std::uint32_t kMessages = 16;
  constexpr std::size_t kBytes = 1 << 20;
  core::EndpointOptions options;
  options.sent_packets_max = 32'768;
  options.grant_window_bytes = kMessages * kBytes * 2;
  options.window.initial_bytes = 64 << 20;
  std::vector<std::byte> from(kBytes);
  std::vector<std::vector<std::byte>> to(kMessages, std::vector<std::byte>(kBytes));
  std::array<core::Completion, 64> done;
  std::int64_t segments = 0;
  for (auto _ : state) {
    state.PauseTiming();
    TwoCores cores(options, core::SealMode::kNone, 2, kPacketBytes);
    cores.create_communicators(1);
    for (auto& buffer : to) {
      static_cast<void>(cores.side(1).receive(
          cores.now(), {.peer = cores.peer(1), .communicator = {1}, .tag = 7, .buffer = buffer}));
      static_cast<void>(cores.side(0).send(
          cores.now(), {.peer = cores.peer(0), .communicator = {1}, .tag = 7, .data = from}));
    }
    // Announcements and grants pass; then path 0 swallows all data. The other path's packets
    // arrive but nothing is acknowledged yet.
    cores.deliver(0);
    cores.deliver(1);
    cores.deliver(0, 1);
    const auto before = cores.side(0).path_status(cores.peer(0), 0);
    segments += static_cast<std::int64_t>(before.value().in_flight_bytes / kPacketBytes);
    const auto dead = [&] {
      const auto status = cores.side(0).path_status(cores.peer(0), 0);
      return status.value().state != core::PathState::kGood &&
             status.value().state != core::PathState::kSuspect;
    };
    for (int i = 0; i < 100 && !dead(); ++i) {
      state.ResumeTiming();
      cores.tick(microseconds(250));
      state.PauseTiming();
      if (dead()) break;
      cores.deliver(1);
      cores.deliver(0, 1);
    }
    if (!dead()) return state.SkipWithError("the path did not die");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(segments);
}
BENCHMARK(core_path_death)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace zhinu::bench

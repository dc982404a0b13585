// Two endpoints and a network between them, for the malloc test: counts what is allocated
// while a call into an endpoint is under way, and not what the test does between the calls.
//
// Pools are small, so that full is part of it. Virtual time. Include it in one source of a
// program only, as it brings the operators that count. Thread rule: one thread.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "core/alloc_guard_test.h"
#include "core/endpoint.h"

namespace zhinu::sim::test {

using core::Counter;
using core::Endpoint;
using core::EventKind;
using core::SealMode;

inline constexpr core::CommunicatorId kOne{1};
inline constexpr std::uint8_t kPaths = 3;
inline constexpr std::size_t kLarge = 60'000;
inline constexpr std::size_t kSmall = 700;

// Adds up what is allocated while it lives.
class Counted {
 public:
  explicit Counted(std::uint64_t& sum) : sum_(sum), before_(core::test::allocations) {}
  ~Counted() { sum_ += core::test::allocations - before_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::uint64_t& sum_;
  std::uint64_t before_;
};

class SeededEntropy final : public core::Entropy {
 public:
  void fill(MutableByteSpan out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(prng_.next());
  }

 private:
  Prng prng_{1};
};

inline core::EndpointOptions small_options() {
  core::EndpointOptions options;
  options.path.hold_first = milliseconds(5);
  options.path.hold_max = milliseconds(20);
  options.sends_max = 64;
  options.receives_max = 64;
  options.sent_packets_max = 128;
  options.channels_max = 8;
  options.held_blocks_max = 32;
  options.segment_maps_max = 4;
  options.refusals_max = 64;
  options.events_max = 64;
  options.eager_bytes_max = 1'000;
  options.eager_budget_bytes = 8'192;
  options.announced_max = 4;
  return options;
}

inline core::Address address_of(std::uint32_t side, std::uint8_t path) {
  core::Address address;
  address.bytes[0] = static_cast<std::byte>(side + 1);
  address.bytes[1] = static_cast<std::byte>(path);
  return address;
}

// Two endpoints and a network of constant latency between them.
class CountedPair {
 public:
  explicit CountedPair(SealMode seal) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      const core::Identity identity{
          .rank = side, .world = 1, .incarnation = side + 1, .seal = seal, .job_key = {}};
      endpoints_[side] = std::make_unique<Endpoint>(small_options(), identity, entropy_);
      std::array<core::PathConfig, kPaths> paths;
      for (std::uint8_t path = 0; path < kPaths; ++path) {
        paths[path].remote = address_of(1 - side, path);
        paths[path].nic = path;
        paths[path].group = path;
        paths[path].packet_bytes_max = 1'400;
      }
      EXPECT_TRUE(at(side).create_communicator(kOne).ok());
      EXPECT_TRUE(at(side).add_peer(now_, {.rank = 1 - side, .paths = paths}).ok());
      const auto added = at(side).register_region(regions_[side], {true, true});
      EXPECT_TRUE(added.ok());
      keys_[side] = added.value();
    }
    run_until([this] { return at(0).peer_is_up({0}) && at(1).peer_is_up({0}); });
    run_for(milliseconds(1));
    allocated_ = 0;
  }

  Endpoint& at(std::uint32_t side) { return *endpoints_[side]; }
  Instant now() const { return now_; }
  core::RegionKey key(std::uint32_t side) const { return keys_[side]; }
  std::uint64_t allocated() const { return allocated_; }
  std::uint64_t counter(std::uint32_t side, Counter counter) {
    return at(side).counters()[counter];
  }
  // How many items of the side ended so.
  std::size_t ended(std::uint32_t side, Errc status) const {
    std::size_t count = 0;
    for (const core::Completion& done : completions_[side]) count += done.status == status ? 1 : 0;
    return count;
  }
  std::size_t notified(std::uint32_t side) const { return notified_[side]; }

  // Posts; the operation is none if the pool is full.
  core::Operation send(std::uint32_t side, std::size_t bytes, std::uint32_t tag,
                       Instant deadline = Instant::never()) {
    core::SendArgs args;
    args.data = ByteSpan(data_).first(bytes);
    args.tag = tag;
    args.deadline = deadline;
    return post(side, args, &Endpoint::send);
  }
  core::Operation receive(std::uint32_t side, std::size_t bytes, std::uint32_t tag,
                          Instant deadline = Instant::never()) {
    core::ReceiveArgs args;
    args.buffer = buffers_.emplace_back(bytes);
    args.tag = tag;
    args.deadline = deadline;
    return post(side, args, &Endpoint::receive);
  }
  core::Operation write(std::uint32_t side, std::size_t bytes) {
    core::WriteArgs args;
    args.data = ByteSpan(data_).first(bytes);
    args.region = keys_[1 - side];
    args.notify = true;
    args.ordered = bytes > kSmall;
    return post(side, args, &Endpoint::write);
  }
  core::Operation read(std::uint32_t side, std::size_t bytes) {
    core::ReadArgs args;
    args.buffer = buffers_.emplace_back(bytes);
    args.region = keys_[1 - side];
    return post(side, args, &Endpoint::read);
  }
  // Any other call into an endpoint.
  void call(const std::function<Status()>& call) {
    const Counted counted(allocated_);
    EXPECT_TRUE(call().ok());
  }

  void set_down(std::uint8_t path, bool down) { down_[path] = down; }
  void drop_every(std::uint32_t packets) { drop_every_ = packets; }

  void run_for(Duration duration) {
    run_until([] { return false; }, duration);
  }
  bool run_until(const std::function<bool()>& predicate, Duration limit = seconds(2)) {
    const Instant end = now_ + limit;
    for (;;) {
      for (std::uint32_t side = 0; side < 2; ++side) drain(side);
      if (predicate()) return true;
      Instant next = flights_.empty() ? Instant::never() : flights_.front().at;
      for (std::uint32_t side = 0; side < 2; ++side) next = std::min(next, timeout(side));
      if (next > end) break;
      now_ = std::max(now_, next);
      pass();
    }
    now_ = end;
    return predicate();
  }

 private:
  struct Flight {
    Instant at;
    std::uint32_t to = 0;
    std::uint8_t path = 0;
    std::size_t bytes = 0;
    std::array<std::byte, 1'500> data;
  };

  template <class Args>
  core::Operation post(std::uint32_t side, Args args,
                       Result<core::Operation> (Endpoint::*method)(Instant, const Args&)) {
    args.peer = {0};
    args.communicator = kOne;
    const Counted counted(allocated_);
    const auto posted = (at(side).*method)(now_, args);
    EXPECT_TRUE(posted.ok() || posted.error() == Errc::kFull);
    return posted.ok() ? posted.value() : core::Operation{};
  }
  Instant timeout(std::uint32_t side) {
    const Counted counted(allocated_);
    return at(side).poll_timeout();
  }
  void pass() {
    while (!flights_.empty() && flights_.front().at <= now_) {
      const Flight flight = flights_.front();
      flights_.pop_front();
      const core::Arrival arrival{.from = address_of(1 - flight.to, flight.path),
                                  .nic = flight.path};
      const Counted counted(allocated_);
      static_cast<void>(
          at(flight.to).handle_datagram(now_, arrival, std::span(flight.data).first(flight.bytes)));
    }
    for (std::uint32_t side = 0; side < 2; ++side) {
      const Counted counted(allocated_);
      at(side).handle_timeout(now_);
    }
  }
  bool poll_transmit(std::uint32_t side, Flight& flight, core::Transmit& transmit) {
    const Counted counted(allocated_);
    if (!at(side).poll_transmit(now_, transmit)) return false;
    const auto encoded = at(side).encode(transmit, flight.data, 256);
    EXPECT_TRUE(encoded.ok());
    const ByteSpan tail = encoded.value().tail;
    flight.bytes = encoded.value().head_bytes + tail.size();
    std::copy(tail.begin(), tail.end(), flight.data.begin() + encoded.value().head_bytes);
    return true;
  }
  void drain(std::uint32_t side) {
    Flight flight;
    core::Transmit transmit;
    while (poll_transmit(side, flight, transmit)) {
      flight.at = now_ + microseconds(10);
      flight.to = 1 - side;
      flight.path = transmit.route.nic;
      const bool lost = drop_every_ > 0 && ++sent_ % drop_every_ == 0;
      if (!lost && !down_[flight.path]) flights_.push_back(flight);
    }
    std::array<core::Completion, 8> done;
    for (std::size_t count = 1; count > 0;) {
      {
        const Counted counted(allocated_);
        count = at(side).poll_completions(done);
      }
      completions_[side].insert(completions_[side].end(), done.begin(), done.begin() + count);
    }
    for (core::Event event; poll_event(side, event);) {
      if (event.kind == EventKind::kNotification) ++notified_[side];
    }
  }
  bool poll_event(std::uint32_t side, core::Event& event) {
    const Counted counted(allocated_);
    return at(side).poll_event(event);
  }

  Instant now_ = Instant{} + seconds(1);
  SeededEntropy entropy_;
  std::array<std::unique_ptr<Endpoint>, 2> endpoints_;
  std::array<std::vector<std::byte>, 2> regions_{std::vector<std::byte>(kLarge),
                                                 std::vector<std::byte>(kLarge)};
  std::array<core::RegionKey, 2> keys_;
  std::vector<std::byte> data_ = std::vector<std::byte>(kLarge, std::byte{7});
  std::deque<std::vector<std::byte>> buffers_;
  std::deque<Flight> flights_;
  std::array<std::vector<core::Completion>, 2> completions_;
  std::array<std::size_t, 2> notified_{};
  std::array<bool, kPaths> down_{};
  std::uint32_t drop_every_ = 0;
  std::uint32_t sent_ = 0;
  std::uint64_t allocated_ = 0;
};

}  // namespace zhinu::sim::test

// Two endpoints and a network between them, for tests of the core.
//
// Virtual time only: step() lets the next event happen, run_until() as many as it
// takes. Path i of either side runs over spine i, so that a test can harm one path
// and one direction. What the endpoints say is kept: completions and events by side.
// A hook sees every datagram as it leaves and may drop, repeat or change it.
// Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/net/cluster.h"

namespace zhinu::sim {

struct PairOptions {
  std::array<core::EndpointOptions, 2> endpoints{};
  core::SealMode seal = core::SealMode::kCrc32c;
  std::uint32_t nics = 1;
  std::uint32_t paths = 1;
  std::uint32_t packet_bytes_max = 8'972;
  Duration latency = microseconds(10);  // one way, without the time to send the bytes
  std::uint64_t rate_bits_per_s = 10'000'000'000;
  std::uint64_t queue_bytes = 256 * 1024;
  std::uint64_t ecn_bytes = 64 * 1024;
  MisbehaviourRates misbehaviour{};
  std::uint64_t seed = 1;
};

class Pair : private Owner, private DatagramHook {
 public:
  // A datagram that leaves `side`; `index` counts from 0 per side.
  struct Leaving {
    std::uint32_t side = 0;
    std::uint64_t index = 0;
    const core::Transmit& transmit;
    MutableByteSpan bytes;
  };
  // How often it is to be sent: 1 as it is, 0 drops it.
  using Hook = std::function<std::uint32_t(const Leaving&)>;

  explicit Pair(const PairOptions& options = {});

  // Makes the sides peers of each other and runs until both are up; false if they
  // are not within `limit`. Communicator 1 exists on both sides afterwards.
  bool connect(Duration limit = seconds(5));

  // After cluster().stop(side): a new endpoint at the same address, with communicator 1,
  // that says hello. What the old one said is forgotten.
  void start_again(std::uint32_t side);

  Cluster& cluster() { return cluster_; }
  core::Endpoint& endpoint(std::uint32_t side) { return cluster_.endpoint(side); }
  core::PeerId peer(std::uint32_t side) const { return cluster_.peer(side, 1 - side); }
  Instant now() const { return cluster_.now(); }

  // Posting on communicator 1, with what the arguments leave open filled in: peer,
  // communicator. The post must be taken.
  core::Operation send(std::uint32_t side, core::SendArgs args);
  core::Operation receive(std::uint32_t side, core::ReceiveArgs args);
  core::Operation write(std::uint32_t side, core::WriteArgs args);
  core::Operation read(std::uint32_t side, core::ReadArgs args);
  // After calls of the endpoint that were made directly.
  void touch(std::uint32_t side) { cluster_.touch(side); }

  bool step() { return cluster_.step(); }
  void run_for(Duration duration) { cluster_.run_until(now() + duration); }
  // Runs until `predicate()` is true; false if it is not within `limit`.
  template <class Predicate>
  bool run_until(Predicate predicate, Duration limit = seconds(10)) {
    const Instant end = now() + limit;
    while (!predicate()) {
      if (cluster_.next_at() > end || !step()) return predicate();
    }
    return true;
  }
  // Runs until the operation has its result.
  std::optional<core::Completion> result(std::uint32_t side, core::Operation operation,
                                         Duration limit = seconds(10));

  const std::vector<core::Completion>& completions(std::uint32_t side) const {
    return completions_[side];
  }
  const std::vector<core::Event>& events(std::uint32_t side) const { return events_[side]; }
  std::optional<core::Completion> completion(std::uint32_t side, core::Operation operation) const;
  std::uint32_t count(std::uint32_t side, core::EventKind kind) const;

  // What happens to everything that leaves `side`, or to one of its paths.
  void set_faults(std::uint32_t side, const LinkFaults& faults);
  void set_path_faults(std::uint32_t side, std::uint8_t path, const LinkFaults& faults);
  void set_latency(Duration latency);
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  // The next `count` datagrams of the side are lost.
  void drop_next(std::uint32_t side, std::uint32_t count) { drops_[side] = count; }
  std::uint64_t sent(std::uint32_t side) const { return sent_[side]; }

 private:
  void on_completion(std::uint32_t node, const core::Completion& completion) override;
  void on_event(std::uint32_t node, const core::Event& event) override;
  void on_timer(std::uint64_t /*value*/) override {}
  std::uint32_t on_datagram(std::uint32_t node, const core::Transmit& transmit,
                            MutableByteSpan bytes) override;
  void start(std::uint32_t side);

  PairOptions options_;
  Cluster cluster_;
  Hook hook_;
  std::array<std::vector<core::Completion>, 2> completions_;
  std::array<std::vector<core::Event>, 2> events_;
  std::array<std::uint64_t, 2> sent_{};
  std::array<std::uint32_t, 2> drops_{};
};

}  // namespace zhinu::sim

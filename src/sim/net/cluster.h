// Real transport cores on a simulated fabric, under virtual time.
//
// The cluster drives every endpoint as a driver must: datagrams and time-outs in;
// then events, packets and completions out until there are none; then sleep until
// poll_timeout. Whoever runs the cluster is its Owner and gets what came out.
// Everything follows from the options: equal options and calls give equal runs.
// Thread rule: one thread per cluster; clusters share nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "core/endpoint.h"
#include "sim/net/event_queue.h"
#include "sim/net/fabric.h"
#include "sim/net/node_faults.h"
#include "sim/net/trace_hash.h"

namespace zhinu::sim {

struct ClusterOptions {
  FabricOptions fabric;
  std::vector<core::EndpointOptions> endpoints{core::EndpointOptions{}};  // node n: n % size
  core::SealMode seal = core::SealMode::kNone;
  std::uint32_t paths_per_pair = 1;
  std::uint32_t packet_bytes_max = 8'972;
  MisbehaviourRates misbehaviour{};
  std::uint64_t seed = 1;
  Instant start = Instant{} + seconds(1);
};

// Who uses the endpoints. Called while an endpoint is drained: the owner may post on
// any endpoint and then calls touch(), but never starts or stops one from here.
class Owner {
 public:
  virtual ~Owner() = default;
  virtual void on_completion(std::uint32_t node, const core::Completion& completion) = 0;
  virtual void on_event(std::uint32_t node, const core::Event& event) = 0;
  // A time that was asked for with Cluster::call_at; here endpoints may be started
  // and stopped.
  virtual void on_timer(std::uint64_t value) = 0;
  // Every packet before it is encoded.
  virtual void on_transmit(std::uint32_t /*node*/, const core::Transmit& /*transmit*/) {}
};

// For tests: sees each datagram as it leaves and may change, drop or repeat it.
class DatagramHook {
 public:
  virtual ~DatagramHook() = default;
  // How often the datagram is sent: 0 drops it. `bytes` may be changed in place.
  virtual std::uint32_t on_datagram(std::uint32_t node, const core::Transmit& transmit,
                                    MutableByteSpan bytes) = 0;
};

class Cluster {
 public:
  // Packets that one node may send at one instant; more means that poll_transmit
  // never ends.
  static constexpr std::uint32_t kTransmitsPerDrainMax = 1U << 17;
  // Wake-ups of one node at one instant; more means that a time-out is not consumed.
  static constexpr std::uint32_t kWakesPerInstantMax = 1'000;
  // Datagrams that wait at the NICs of a paused node; further ones are dropped.
  static constexpr std::uint32_t kNicQueueMax = 1'024;

  // `owner` outlives the cluster.
  Cluster(const ClusterOptions& options, Owner& owner);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Instant now() const { return now_; }
  std::uint32_t nodes() const { return options_.fabric.nodes; }
  Fabric& fabric() { return fabric_; }
  const ClusterOptions& options() const { return options_; }

  // Makes the endpoint of a node, with a new incarnation each time.
  void start(std::uint32_t node);
  // Destroys it: its peers learn by silence, or from the next incarnation.
  void stop(std::uint32_t node);
  bool started(std::uint32_t node) const;
  // Not before `until` is the endpoint called again; packets wait at its NICs.
  void pause(std::uint32_t node, Instant until);
  void resume(std::uint32_t node);
  bool paused(std::uint32_t node) const;
  // Gives a NIC a new address; what was sent to the old one reaches nobody.
  void change_address(std::uint32_t node, std::uint8_t nic);
  void stop_misbehaviour();

  core::Endpoint& endpoint(std::uint32_t node);
  // The paths that `from` has to `to` by the options, spread over NICs and keys.
  std::vector<core::PathConfig> paths(std::uint32_t from, std::uint32_t to) const;
  core::PathConfig path(const NicAddress& to, std::uint8_t nic, std::uint16_t key) const;
  // `count` paths of which path i runs over spine i, so that they share no up-link.
  std::vector<core::PathConfig> disjoint_paths(std::uint32_t from, std::uint32_t to,
                                               std::uint32_t count) const;
  // Makes `to` a peer of `from`; the other direction is a call of its own.
  core::PeerId connect(std::uint32_t from, std::uint32_t to);
  core::PeerId connect(std::uint32_t from, std::uint32_t to,
                       std::span<const core::PathConfig> paths);
  core::PeerId peer(std::uint32_t from, std::uint32_t to) const;
  std::uint32_t node_of(std::uint32_t node, core::PeerId peer) const;  // kNoNode for a stranger
  static constexpr std::uint32_t kNoNode = 0xffff'ffffU;

  // After a post: what the endpoint has to say is drained before time moves on.
  void touch(std::uint32_t node);
  // on_timer(value) at `at`, but not before now.
  void call_at(Instant at, std::uint64_t value);

  // Drains who was touched, else lets the next event happen; false if there is neither.
  bool step();
  // Lets everything up to `end` happen; the time is `end` afterwards.
  void run_until(Instant end);
  // When step() has something to do; never() without anything.
  Instant next_at() const { return touched_.empty() ? queue_.next_at() : now_; }

  void set_hook(DatagramHook* hook) { hook_ = hook; }
  TraceHash& hash() { return hash_; }
  std::uint64_t datagrams_sent() const { return datagrams_sent_; }
  std::uint64_t events() const { return events_; }
  // What was dropped for want of a reader: old address, stopped node, full NIC queue.
  std::uint64_t undelivered() const { return undelivered_; }
  // Of one node: datagrams sent by and handed to its endpoint since it was started.
  std::uint64_t sent_by(std::uint32_t node) const;
  std::uint64_t received_by(std::uint32_t node) const;

 private:
  struct Node;

  void dispatch(const Event& event);
  void drain_touched();
  void drain(std::uint32_t index);
  bool poll_events(std::uint32_t index);
  bool poll_completions(std::uint32_t index);
  void send(std::uint32_t index);
  void send_hooked(std::uint32_t index, const NicAddress& from, const NicAddress& to);
  void deliver(std::uint32_t index, PacketId id);
  void handle(Node& node, PacketId id);
  void wake(std::uint32_t index, std::uint64_t sequence);
  void schedule_wake(std::uint32_t index);

  ClusterOptions options_;
  Owner& owner_;
  EventQueue queue_;
  Fabric fabric_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::byte> scratch_;
  core::Transmit transmit_;
  DatagramHook* hook_ = nullptr;
  Instant now_;
  TraceHash hash_;
  std::uint64_t datagrams_sent_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t undelivered_ = 0;
};

}  // namespace zhinu::sim

// One run of a scenario: posts its items, switches its faults, and holds all that
// comes back against the invariants.
//
// Phases: faults and work; heal, and everything that can end must; what was never
// posted is posted; what is left is cancelled; silence, and a last look at memory.
// The owner of nothing outside; equal scenarios give equal runs. Thread rule: one
// thread per world.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sim/check/channel_loads.h"
#include "sim/check/history.h"
#include "sim/check/injector.h"
#include "sim/check/invariant.h"
#include "sim/check/items.h"
#include "sim/check/memory.h"
#include "sim/check/regions.h"
#include "sim/check/saboteur.h"
#include "sim/check/scenario.h"
#include "sim/check/streams.h"
#include "sim/check/trace.h"
#include "sim/check/wire_watch.h"
#include "sim/net/cluster.h"

namespace zhinu::sim::check {

class World : private Owner, private DatagramHook {
 public:
  // Events of one run; more is a storm.
  static constexpr std::uint64_t kEventsMax = 100'000'000;

  // `scenario` and `saboteur` (may be null) outlive the world.
  explicit World(const Scenario& scenario, Saboteur* saboteur = nullptr, TraceSink trace = {});
  ~World() override;

  // Runs to the end or to the first breach.
  void run();

  const std::optional<Failure>& failure() const { return verdict_.failure(); }
  std::uint64_t hash() { return cluster_.hash().value(); }
  Duration elapsed() const { return cluster_.now() - start_; }
  std::uint64_t packets() const { return cluster_.datagrams_sent(); }
  std::uint64_t events() const { return cluster_.events(); }
  std::uint64_t items_ended() const { return items_ended_; }
  const FaultCounts& faults() const { return injector_.counts(); }

 private:
  enum class Phase : std::uint8_t { kFaults, kSettling, kLate, kCancelling, kQuiet, kOver };
  enum class Posted : std::uint8_t { kYes, kBlocked, kLater };
  // Posts that wait for a node or for room, per node and pool of the core.
  struct Backlog {
    std::deque<ItemRef> sends;
    std::deque<ItemRef> receives;
    bool retry_queued = false;
    bool empty() const { return sends.empty() && receives.empty(); }
  };
  struct NodeState {
    Backlog backlog;
    std::uint32_t open_sends = 0;  // and writes
    std::uint32_t open_receives = 0;
    std::vector<std::uint32_t> down_order;  // by peer: items posted before must have ended
    std::uint32_t starts = 0;
    std::vector<std::uint32_t> met;  // by peer: its starts when it was met last
    std::vector<bool> aborted;       // by communicator
  };

  // world.cc: life of the run.
  void begin();
  void link_nodes();
  void schedule();
  void at(Duration when, std::uint32_t timer, std::size_t index);
  void start_node(std::uint32_t node);
  void stop_node(std::uint32_t node);
  void lose_items(std::uint32_t node);
  void act(std::uint32_t index);
  void close_pair(std::uint32_t node, std::uint32_t peer);
  void abort_communicator(std::uint32_t node, std::uint32_t communicator);
  void change_address(std::uint32_t node, std::uint32_t nic);
  bool waits_for_the_past(std::uint32_t node, std::uint32_t peer);
  void nudge(std::uint32_t node, std::uint32_t peer);
  void heal();
  void revoke(std::uint32_t region);
  void on_timer(std::uint64_t value) override;
  void on_post_timer(std::uint32_t timer, std::uint32_t index);

  // world_post.cc: items into the cores.
  void post(ItemRef ref);
  Posted try_post(ItemRef ref);
  Result<core::Operation> post_send(ItemRef ref, Item& item);
  Result<core::Operation> post_receive(ItemRef ref, Item& item);
  Result<core::Operation> post_access(ItemRef ref, Item& item);
  Posted on_post_refused(ItemRef ref, Item& item, Errc error);
  void on_posted(ItemRef ref, Item& item, core::Operation operation);
  void retry(std::uint32_t node);
  void retry(std::deque<ItemRef>& queue);
  void queue_retry(std::uint32_t node);
  void cancel(ItemRef ref);
  Item& item_of(ItemRef ref);
  std::uint32_t node_of(ItemRef ref) const;
  bool in_send_pool(ItemRef ref) const;
  bool running(std::uint32_t node) const;

  // world_results.cc: what the cores say.
  void on_completion(std::uint32_t node, const core::Completion& completion) override;
  void complete(std::uint32_t node, const core::Completion& completion);
  void end_receive(ItemRef ref, Item& item, const core::Completion& completion);
  void close_item(ItemRef ref, Item& item, ItemState state);
  void on_event(std::uint32_t node, const core::Event& event) override;
  void on_aborted(std::uint32_t node, const core::Event& event);
  void on_peer_down(std::uint32_t node, std::uint32_t peer, Errc code);
  void on_transmit(std::uint32_t node, const core::Transmit& transmit) override;
  std::uint32_t on_datagram(std::uint32_t node, const core::Transmit& transmit,
                            MutableByteSpan bytes) override;

  // world_phases.cc: what must have happened when, and the last look.
  void tick();
  void check_progress();
  void next_phase();
  void post_late();
  void cancel_all();
  void check_deadlines();
  bool must_have_ended(ItemRef ref, const Item& item) const;
  void find_blocked_channels();
  bool channel_blocked(std::uint32_t from, std::uint32_t to, std::uint32_t communicator,
                       TrafficClass traffic_class) const;
  std::optional<std::string> find_unfinished();
  std::optional<std::string> find_backlog() const;
  Invariant blame(const std::string& unfinished);
  Duration settle_bound() const;
  void final_check();
  void check_memory();
  void check_budgets(std::uint32_t node);
  void check_counters(std::uint32_t node);

  void note(const std::string& text);
  void fail(Invariant invariant, std::string detail);
  void fail(const std::optional<Streams::Wrong>& wrong);
  std::string named(ItemRef ref) const;
  Duration since_start() const { return cluster_.now() - start_; }
  // Calls visit(ref, item) for all items.
  template <class Visit>
  void for_each_item(Visit visit);

  const Scenario& scenario_;
  Saboteur* saboteur_;
  TraceSink trace_;
  Cluster cluster_;
  Instant start_;
  Verdict verdict_;
  Memory memory_;
  WireWatch watch_;
  Streams streams_;
  Regions regions_;
  History history_;
  Injector injector_;
  std::vector<Item> sends_;     // by message
  std::vector<Item> receives_;  // by message
  std::vector<Item> accesses_;
  std::vector<NodeState> nodes_;
  std::vector<bool> linked_;          // [a * nodes + b]: peers of each other
  std::vector<bool> action_running_;  // restarts that have not come back
  Phase phase_ = Phase::kFaults;
  Duration phase_end_;  // when overdue
  Duration last_post_;  // of the scenario
  std::uint32_t post_order_ = 0;
  std::uint64_t open_items_ = 0;
  bool starved_ = false;  // what find_unfinished found last was a stream
  ChannelLoads blocked_;  // messages that nobody receives, by channel
  std::uint64_t items_ended_ = 0;
};

template <class Visit>
void World::for_each_item(Visit visit) {
  for (std::uint32_t i = 0; i < sends_.size(); ++i) visit(ItemRef{ItemKind::kSend, i}, sends_[i]);
  for (std::uint32_t i = 0; i < receives_.size(); ++i)
    visit(ItemRef{ItemKind::kReceive, i}, receives_[i]);
  for (std::uint32_t i = 0; i < accesses_.size(); ++i)
    visit(ItemRef{ItemKind::kAccess, i}, accesses_[i]);
}

}  // namespace zhinu::sim::check

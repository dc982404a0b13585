#include "sim/check/world.h"

#include <algorithm>

#include "base/check.h"
#include "sim/check/expectation.h"
#include "sim/check/world_timers.h"

namespace zhinu::sim::check {
namespace {

constexpr Duration kTickInterval = milliseconds(2);
constexpr Duration kPausedRetry = milliseconds(1);

ClusterOptions cluster_options(const Scenario& scenario) {
  ClusterOptions options;
  options.fabric.nodes = scenario.fabric.nodes;
  options.fabric.nics = scenario.fabric.nics;
  options.fabric.nodes_per_pod = scenario.fabric.nodes_per_pod;
  options.fabric.spines = scenario.fabric.spines;
  options.fabric.host_link = scenario.fabric.host_link;
  options.fabric.spine_link = scenario.fabric.spine_link;
  options.fabric.seed = scenario.seed;
  options.endpoints = scenario.endpoints;
  options.seal = scenario.seal;
  options.paths_per_pair = scenario.fabric.paths;
  options.packet_bytes_max = scenario.fabric.packet_bytes;
  options.misbehaviour = scenario.misbehaviour;
  options.seed = scenario.seed;
  return options;
}

std::size_t restarts_of(const Scenario& scenario, std::uint32_t node) {
  std::size_t count = 0;
  for (const Action& action : scenario.actions)
    if (action.kind == ActionKind::kRestart && action.node == node) ++count;
  return count;
}

std::size_t memory_bytes(const Scenario& scenario) {
  std::size_t bytes = 0;
  for (const Message& message : scenario.messages) bytes += message.bytes + message.receive_bytes;
  for (const Access& access : scenario.accesses) bytes += access.bytes;
  for (const Region& region : scenario.regions)
    bytes += region.bytes * (1 + restarts_of(scenario, region.node));
  return bytes;
}

std::size_t memory_buffers(const Scenario& scenario) {
  std::size_t buffers = 2 * scenario.messages.size() + scenario.accesses.size();
  for (const Region& region : scenario.regions) buffers += 1 + restarts_of(scenario, region.node);
  return buffers;
}

}  // namespace

World::World(const Scenario& scenario, Saboteur* saboteur, TraceSink trace)
    : scenario_(scenario),
      saboteur_(saboteur),
      trace_(std::move(trace)),
      cluster_(cluster_options(scenario), *this),
      start_(cluster_.now()),
      memory_(memory_bytes(scenario), memory_buffers(scenario)),
      watch_(scenario.fabric.nodes, memory_),
      streams_(scenario),
      regions_(scenario, memory_, watch_),
      history_(scenario),
      injector_(scenario, cluster_),
      sends_(scenario.messages.size()),
      receives_(scenario.messages.size()),
      accesses_(scenario.accesses.size()),
      nodes_(scenario.fabric.nodes),
      linked_(std::size_t{scenario.fabric.nodes} * scenario.fabric.nodes, false),
      action_running_(scenario.actions.size(), false) {
  if (saboteur_ != nullptr) cluster_.set_hook(this);
}

World::~World() = default;

void World::run() {
  begin();
  while (!verdict_.failed() && phase_ != Phase::kOver && cluster_.step()) {
    if (cluster_.events() > kEventsMax)
      fail(Invariant::kBoundedWork, "more than " + std::to_string(kEventsMax) + " events");
  }
}

void World::begin() {
  for_each_item([this](ItemRef ref, Item& item) { item.node = node_of(ref); });
  link_nodes();
  for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
    // Ranks that disagree end their communicator whenever they notice; so does a receiver
    // without room to tell one sender that its message did not fit.
    const std::uint32_t stream = streams_.stream_of(i);
    if (streams_.may_mismatch(stream) || streams_.may_truncate(stream))
      history_.on_communicator_ended(scenario_.messages[i].communicator);
  }
  for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) start_node(node);
  schedule();
}

void World::link_nodes() {
  const std::uint32_t nodes = cluster_.nodes();
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    linked_[std::size_t{a} * nodes + b] = true;
    linked_[std::size_t{b} * nodes + a] = true;
  };
  for (const Message& message : scenario_.messages) link(message.from, message.to);
  for (const Access& access : scenario_.accesses)
    link(access.from, region_of(scenario_, access.region).node);
  // An abort floods over peers, so that all nodes of a communicator must be connected.
  for (std::uint32_t node = 0; node + 1 < nodes; ++node) link(node, node + 1);
}

void World::schedule() {
  for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
    at(scenario_.messages[i].send_at, kPostSend, i);
    if (happens(scenario_.messages[i].receive_at))
      at(scenario_.messages[i].receive_at, kPostReceive, i);
  }
  for (std::uint32_t i = 0; i < scenario_.accesses.size(); ++i)
    at(scenario_.accesses[i].at, kPostAccess, i);
  for (std::uint32_t i = 0; i < scenario_.regions.size(); ++i)
    if (happens(scenario_.regions[i].revoke_at))
      at(scenario_.regions[i].revoke_at, kRevokeRegion, i);
  for (std::uint32_t i = 0; i < scenario_.actions.size(); ++i)
    at(scenario_.actions[i].at, kStartAction, i);
  for (std::uint32_t i = 0; i < scenario_.link_faults.size(); ++i) {
    at(scenario_.link_faults[i].at, kStartLinkFault, i);
    at(scenario_.link_faults[i].at + scenario_.link_faults[i].duration, kEndLinkFault, i);
  }
  for (std::uint32_t i = 0; i < scenario_.partitions.size(); ++i) {
    at(scenario_.partitions[i].at, kStartPartition, i);
    at(scenario_.partitions[i].at + scenario_.partitions[i].duration, kEndPartition, i);
  }
  at(scenario_.heal_at, kHealAll, 0);
  at(kTickInterval, kTick, 0);
}

void World::at(Duration when, std::uint32_t timer, std::size_t index) {
  if (timer <= kPostAccess) last_post_ = std::max(last_post_, when);
  cluster_.call_at(start_ + when, encode_timer(timer, static_cast<std::uint32_t>(index)));
}

void World::start_node(std::uint32_t node) {
  note("n" + std::to_string(node) + " starts");
  cluster_.start(node);
  NodeState& state = nodes_[node];
  state.down_order.assign(cluster_.nodes(), 0);
  ++state.starts;
  state.met.assign(cluster_.nodes(), 0);
  state.aborted.assign(scenario_.communicators, false);
  core::Endpoint& endpoint = cluster_.endpoint(node);
  // One more than the scenario's: for nudges, which nobody receives.
  for (std::uint32_t id = 0; id <= scenario_.communicators; ++id) {
    const Status created =
        endpoint.create_communicator(core::CommunicatorId{static_cast<std::uint16_t>(id)});
    ZHINU_ASSERT(created.ok());
  }
  regions_.register_all(node, endpoint);
  for (std::uint32_t other = 0; other < cluster_.nodes(); ++other)
    if (other != node && linked_[std::size_t{node} * cluster_.nodes() + other])
      cluster_.connect(node, other);
  cluster_.touch(node);
}

void World::stop_node(std::uint32_t node) {
  note("n" + std::to_string(node) + " stops");
  check_counters(node);
  check_budgets(node);
  cluster_.stop(node);
  history_.on_restart(node);
  watch_.on_restart(node);
  regions_.on_stop(node);
  lose_items(node);
}

// Nothing posted on the node completes any more, and what others sent to it may or may
// not have been delivered.
void World::lose_items(std::uint32_t node) {
  for_each_item([&](ItemRef ref, Item& item) {
    if (item.node == node && item.open()) {
      if (ref.kind == ItemKind::kAccess) regions_.on_lost(ref.index);
      close_item(ref, item, ItemState::kLost);
    }
  });
  for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
    const Message& message = scenario_.messages[i];
    const bool concerned = message.from == node || message.to == node;
    if (concerned && sends_[i].state != ItemState::kUnposted && !streams_.delivered(i))
      streams_.forget(i);
  }
}

void World::act(std::uint32_t index) {
  const Action& action = scenario_.actions[index];
  if (phase_ != Phase::kFaults || !running(action.node)) return;
  switch (action.kind) {
    case ActionKind::kAbort: return abort_communicator(action.node, action.communicator);
    case ActionKind::kClose: return close_pair(action.node, action.peer);
    case ActionKind::kRestart:
      injector_.count(FaultKind::kRestart);
      stop_node(action.node);
      action_running_[index] = true;
      return at(since_start() + action.duration, kEndAction, index);
    case ActionKind::kAddress: return change_address(action.node, action.nic);
    case ActionKind::kPause:
      injector_.count(FaultKind::kPause);
      note("n" + std::to_string(action.node) + " pauses");
      return cluster_.pause(action.node, cluster_.now() + action.duration);
  }
}

void World::abort_communicator(std::uint32_t node, std::uint32_t communicator) {
  injector_.count(FaultKind::kAbort);
  history_.on_communicator_ended(communicator);
  note("n" + std::to_string(node) + " aborts communicator " + std::to_string(communicator));
  const core::CommunicatorId id{static_cast<std::uint16_t>(communicator)};
  const Status status = cluster_.endpoint(node).abort(cluster_.now(), id, Errc::kAborted);
  if (!status.ok() && status.error() != Errc::kAborted) {
    fail(Invariant::kResultAllowed, "abort was refused: " + std::string(errc_text(status.error())));
  }
  nodes_[node].aborted[communicator] = true;
  cluster_.touch(node);
}

void World::close_pair(std::uint32_t node, std::uint32_t peer) {
  if (!linked_[std::size_t{node} * cluster_.nodes() + peer]) return;
  injector_.count(FaultKind::kClose);
  note("n" + std::to_string(node) + " closes n" + std::to_string(peer));
  history_.on_close(node, peer);
  for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
    const Message& message = scenario_.messages[i];
    const bool concerned = (message.from == node && message.to == peer) ||
                           (message.from == peer && message.to == node);
    if (concerned && sends_[i].state != ItemState::kUnposted && !streams_.delivered(i))
      streams_.forget(i);
  }
  if (waits_for_the_past(peer, node)) history_.on_apart(node, peer);
  const Status status =
      cluster_.endpoint(node).close_peer(cluster_.now(), cluster_.peer(node, peer));
  if (!status.ok())
    fail(Invariant::kResultAllowed, "close was refused: " + std::string(errc_text(status.error())));
  cluster_.touch(node);
}

// Whether `node` has a session with `peer` as it was before its last start.
bool World::waits_for_the_past(std::uint32_t node, std::uint32_t peer) {
  return cluster_.started(node) && cluster_.started(peer) &&
         cluster_.endpoint(node).peer_is_up(cluster_.peer(node, peer)) &&
         nodes_[node].met[peer] != nodes_[peer].starts;
}

// The owner of an address that moved knows it, and lets its peers know by sending.
void World::change_address(std::uint32_t node, std::uint32_t nic) {
  injector_.count(FaultKind::kAddress);
  note("n" + std::to_string(node) + " moves NIC " + std::to_string(nic));
  cluster_.change_address(node, static_cast<std::uint8_t>(nic));
  for (std::uint32_t peer = 0; peer < cluster_.nodes(); ++peer) {
    if (peer == node || !linked_[std::size_t{node} * cluster_.nodes() + peer]) continue;
    if (waits_for_the_past(node, peer)) history_.on_apart(node, peer);
    nudge(node, peer);
  }
}

void World::nudge(std::uint32_t node, std::uint32_t peer) {
  if (running(node)) {
    core::SendArgs args;
    args.peer = cluster_.peer(node, peer);
    args.communicator = core::CommunicatorId{static_cast<std::uint16_t>(scenario_.communicators)};
    args.traffic_class = TrafficClass::kInternal;
    args.user = kNudgeUser;
    const auto sent = cluster_.endpoint(node).send(cluster_.now(), args);
    cluster_.touch(node);
    if (sent.ok() || sent.error() != Errc::kFull) return;
  }
  at(since_start() + kPausedRetry, kNudge, node * kNodesMax + peer);
}

void World::heal() {
  note("heal");
  injector_.heal();
  cluster_.stop_misbehaviour();
  phase_ = Phase::kSettling;
  for (std::uint32_t i = 0; i < scenario_.actions.size(); ++i) {
    if (!action_running_[i]) continue;
    action_running_[i] = false;
    start_node(scenario_.actions[i].node);
  }
  for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) cluster_.resume(node);
  phase_end_ = std::max(since_start(), last_post_) + settle_bound();
}

void World::revoke(std::uint32_t region) {
  const std::uint32_t node = scenario_.regions[region].node;
  if (!regions_.registered(region)) return;
  if (cluster_.paused(node)) return at(since_start() + kPausedRetry, kRevokeRegion, region);
  note("region " + std::to_string(scenario_.regions[region].id) + " is revoked");
  const Status status = regions_.revoke(cluster_.now(), region, cluster_.endpoint(node));
  if (!status.ok())
    fail(Invariant::kResultAllowed,
         "revoke was refused: " + std::string(errc_text(status.error())));
  cluster_.touch(node);
}

void World::on_timer(std::uint64_t value) {
  const auto timer = static_cast<std::uint32_t>(value >> 32);
  const auto index = static_cast<std::uint32_t>(value);
  switch (timer) {
    case kRevokeRegion: return revoke(index);
    case kStartAction: return act(index);
    case kEndAction:
      if (!action_running_[index]) return;
      action_running_[index] = false;
      return start_node(scenario_.actions[index].node);
    case kStartLinkFault: return injector_.start_link_fault(index);
    case kEndLinkFault: return injector_.end_link_fault(index);
    case kStartPartition: return injector_.start_partition(index);
    case kEndPartition: return injector_.end_partition(index);
    case kNudge: return nudge(index / kNodesMax, index % kNodesMax);
    case kHealAll: return heal();
    case kTick: at(since_start() + kTickInterval, kTick, 0); return tick();
    default: return on_post_timer(timer, index);
  }
}

void World::on_post_timer(std::uint32_t timer, std::uint32_t index) {
  switch (timer) {
    case kPostSend: return post({ItemKind::kSend, index});
    case kPostReceive: return post({ItemKind::kReceive, index});
    case kPostAccess: return post({ItemKind::kAccess, index});
    case kCancelSend: return cancel({ItemKind::kSend, index});
    case kCancelReceive: return cancel({ItemKind::kReceive, index});
    case kCancelAccess: return cancel({ItemKind::kAccess, index});
    case kRetryPosts: return retry(index);
    default: ZHINU_ASSERT(false);
  }
}

void World::note(const std::string& text) {
  if (trace_) trace_(trace_note(since_start(), text));
}

void World::fail(Invariant invariant, std::string detail) {
  note("broken: " + std::string(name_of(invariant)) + ": " + detail);
  verdict_.fail(invariant, since_start(), std::move(detail));
}

void World::fail(const std::optional<Streams::Wrong>& wrong) {
  if (wrong) fail(wrong->invariant, wrong->detail);
}

std::string World::named(ItemRef ref) const {
  if (ref.kind == ItemKind::kAccess) {
    const Access& access = scenario_.accesses[ref.index];
    return std::string(access.write ? "write " : "read ") + std::to_string(access.id);
  }
  return std::string(ref.kind == ItemKind::kSend ? "send" : "receive") + " of message " +
         std::to_string(scenario_.messages[ref.index].id);
}

}  // namespace zhinu::sim::check

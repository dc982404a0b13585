#include <algorithm>

#include "base/check.h"
#include "sim/check/content.h"
#include "sim/check/expectation.h"
#include "sim/check/world.h"

namespace zhinu::sim::check {
namespace {

// After the heal everything that can end must end within twice what the endpoints may
// sleep between two attempts (probe time-out, zero-window probe, HELLO), plus eight
// times what the open bytes take on the slowest link, plus this.
constexpr Duration kSettleFloor = seconds(2);
constexpr std::int64_t kSlowestLinkFactor = 8;
// A cancelled item ends at its own node, whatever the peers do.
constexpr Duration kCancelBound = seconds(1);
// Long enough for every packet that is still under way, and for its answer.
constexpr Duration kQuietTime = milliseconds(20);
constexpr Duration kDeadlineSlack = milliseconds(20);

// Budgets of idle state (design decision 10).
constexpr std::size_t kFlowBytesMax = 1'024;
constexpr std::size_t kPathBytesMax = 256;
constexpr std::size_t kCommunicatorBytesMax = 4'096;
constexpr std::size_t kEndpointBytesMax = 65'536;

}  // namespace

Duration World::settle_bound() const {
  Duration sleep;
  for (const core::EndpointOptions& options : scenario_.endpoints) {
    const Duration one = options.probe_timeout_max + options.credit_probe_max +
                         options.hello_interval_max + 2 * options.path.suspicion_floor +
                         2 * options.path.probe_timeout_floor;
    sleep = std::max(sleep, one);
  }
  std::uint64_t bytes = 0;
  for (const Message& message : scenario_.messages) bytes += message.bytes;
  for (const Access& access : scenario_.accesses) bytes += access.bytes;
  const std::uint64_t rate = std::min(scenario_.fabric.host_link.rate_bits_per_s,
                                      scenario_.fabric.spine_link.rate_bits_per_s);
  const auto transfer_us = static_cast<std::int64_t>(bytes * 8 * 1'000 / (rate / 1'000));
  return kSettleFloor + 2 * sleep + kSlowestLinkFactor * microseconds(transfer_us);
}

void World::tick() {
  check_deadlines();
  const bool over = phase_ != Phase::kFaults && since_start() > last_post_;
  if (over && !verdict_.failed()) check_progress();
}

void World::check_progress() {
  const bool overdue = since_start() > phase_end_;
  if (phase_ == Phase::kQuiet) {
    if (!overdue) return;
    final_check();
    phase_ = Phase::kOver;
    return;
  }
  if (phase_ == Phase::kCancelling) {
    if (open_items_ == 0) return next_phase();
    if (!overdue) return;
    return fail(Invariant::kCompletionAfterHeal,
                std::to_string(open_items_) + " cancelled items did not end");
  }
  const auto unfinished = find_unfinished();
  if (unfinished) {
    if (overdue) fail(blame(*unfinished), *unfinished);
    return;
  }
  const auto waiting = find_backlog();
  if (!waiting) return next_phase();
  // Full pools may hold posts back for good while both ends wait for a receive that has
  // no room; but a pool without any open item must have room.
  if (!overdue) return;
  if (*waiting != "") return fail(Invariant::kCompletionAfterHeal, *waiting);
  next_phase();
}

std::optional<std::string> World::find_backlog() const {
  bool any = false;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    const NodeState& state = nodes_[node];
    any |= !state.backlog.empty();
    const bool sends_stuck = !state.backlog.sends.empty() && state.open_sends == 0;
    // A read takes room in both pools.
    const bool receives_stuck =
        !state.backlog.receives.empty() && state.open_receives == 0 &&
        (state.backlog.receives.front().kind == ItemKind::kReceive || state.open_sends == 0);
    if (sends_stuck || receives_stuck)
      return "n" + std::to_string(node) + " takes no post though nothing of its own is open";
  }
  return any ? std::optional<std::string>("") : std::nullopt;
}

// Behind as many messages without a receive as a sender may announce, the others of the
// channel wait by right.
void World::find_blocked_channels() {
  blocked_.clear();
  streams_.for_each_unwanted(sends_, receives_, [this](std::uint32_t index) {
    const Message& message = scenario_.messages[index];
    blocked_.add(message.from, message.to, message.communicator, message.traffic_class);
  });
}

bool World::channel_blocked(std::uint32_t from, std::uint32_t to, std::uint32_t communicator,
                            TrafficClass traffic_class) const {
  const auto& options = scenario_.endpoints[from % scenario_.endpoints.size()];
  return blocked_.waiting(from, to, communicator, traffic_class) >= options.announced_max;
}

bool World::must_have_ended(ItemRef ref, const Item& item) const {
  const std::uint32_t communicator = communicator_of(scenario_, ref);
  const std::uint32_t other = other_end(scenario_, ref);
  const bool apart = other != kAnyNode && history_.apart(item.node, other);
  if (ref.kind == ItemKind::kAccess && apart) return false;
  if (ref.kind == ItemKind::kAccess) {
    // A write waits in the channel to the target, the answer of a read in the one back.
    const Access& access = scenario_.accesses[ref.index];
    const std::uint32_t from = access.write ? item.node : other;
    const std::uint32_t to = access.write ? other : item.node;
    return !channel_blocked(from, to, communicator, access.traffic_class);
  }
  const NodeState& node = nodes_[item.node];
  if (node.aborted[communicator]) return true;
  if (other == kAnyNode) return false;
  if (!apart && ref.kind == ItemKind::kSend && nodes_[other].aborted[communicator]) return true;
  return item.order <= node.down_order[other];
}

std::optional<std::string> World::find_unfinished() {
  find_blocked_channels();
  std::optional<std::string> found;
  for_each_item([&](ItemRef ref, const Item& item) {
    if (!found && item.open() && must_have_ended(ref, item)) found = named(ref) + " did not end";
  });
  starved_ = false;
  if (found) return found;
  std::vector<bool> blocked(sends_.size());
  for (std::uint32_t i = 0; i < sends_.size(); ++i) {
    const Message& message = scenario_.messages[i];
    blocked[i] =
        history_.apart(message.from, message.to) ||
        channel_blocked(message.from, message.to, message.communicator, message.traffic_class);
  }
  if (const auto stream = streams_.find_starved(sends_, receives_, blocked)) {
    starved_ = true;
    const Message& message = scenario_.messages[streams_.messages_of(*stream).front()];
    return "a receive of n" + std::to_string(message.to) +
           " and a message wait for each other: " + "communicator " +
           std::to_string(message.communicator) + ", " + zhinu::name_of(message.traffic_class) +
           ", tag " + std::to_string(message.tag) +
           (message.any_source ? ", any source" : ", from n" + std::to_string(message.from));
  }
  return std::nullopt;
}

// A stream that starves beside messages that nobody receives was blocked by them.
Invariant World::blame(const std::string& /*unfinished*/) {
  if (!starved_) return Invariant::kCompletionAfterHeal;
  for (std::uint32_t i = 0; i < sends_.size(); ++i)
    if (sends_[i].open() && receives_[i].state == ItemState::kUnposted)
      return Invariant::kCommunicatorsIndependent;
  return Invariant::kCompletionAfterHeal;
}

void World::next_phase() {
  phase_ = static_cast<Phase>(static_cast<std::uint8_t>(phase_) + 1);
  note("phase " + std::to_string(static_cast<int>(phase_)));
  if (phase_ == Phase::kLate) {
    post_late();
    phase_end_ = since_start() + settle_bound();
  } else if (phase_ == Phase::kCancelling) {
    cancel_all();
    phase_end_ = since_start() + kCancelBound;
  } else {
    phase_end_ = since_start() + kQuietTime;
  }
}

// The receives that nobody posted are posted now for half of the streams, in the order of
// their messages, which waited for this.
void World::post_late() {
  std::vector<std::uint32_t> late;
  for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
    if (!happens(scenario_.messages[i].receive_at) && streams_.stream_of(i) % 2 == 0)
      late.push_back(i);
  }
  std::sort(late.begin(), late.end(), [this](std::uint32_t a, std::uint32_t b) {
    return sends_[a].order != sends_[b].order ? sends_[a].order < sends_[b].order : a < b;
  });
  for (const std::uint32_t message : late) post({ItemKind::kReceive, message});
}

void World::cancel_all() {
  history_.on_cancel_all();
  for (NodeState& node : nodes_) {
    for (const auto* queue : {&node.backlog.sends, &node.backlog.receives})
      for (const ItemRef ref : *queue) item_of(ref).state = ItemState::kSkipped;
    node.backlog.sends.clear();
    node.backlog.receives.clear();
  }
  // Odd communicators are destroyed instead, which ends their items the same way.
  for_each_item([this](ItemRef ref, Item& item) {
    if (!item.open()) return;
    if (communicator_of(scenario_, ref) % 2 == 0) return cancel(ref);
    item.cancel_asked = true;
  });
  for (std::uint32_t id = 1; id < scenario_.communicators; id += 2) {
    for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) {
      const Status status = cluster_.endpoint(node).destroy_communicator(
          cluster_.now(), core::CommunicatorId{static_cast<std::uint16_t>(id)});
      if (!status.ok()) fail(Invariant::kResultAllowed, "a communicator could not be destroyed");
      cluster_.touch(node);
    }
  }
}

void World::check_deadlines() {
  for_each_item([this](ItemRef ref, const Item& item) {
    if (!item.open() || !happens(item.deadline) || cluster_.paused(item.node)) return;
    if (since_start() > item.deadline + kDeadlineSlack)
      fail(Invariant::kDeadlineKept, named(ref) + " is open after its deadline");
  });
}

void World::final_check() {
  check_memory();
  fail(regions_.final_check(accesses_, history_));
  for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) {
    check_budgets(node);
    check_counters(node);
  }
}

void World::check_memory() {
  for_each_item([this](ItemRef ref, const Item& item) {
    const bool ended = item.state == ItemState::kDone || item.state == ItemState::kLost;
    if (!ended) return;
    const MutableByteSpan bytes = memory_.span(item.buffer);
    const bool same = in_send_pool(ref)
                          ? item.state == ItemState::kLost || first_unpoisoned(bytes) == kAllRight
                          : hash_of(bytes) == item.done_hash;
    if (!same)
      fail(Invariant::kNothingAfterCompletion, named(ref) + ": its buffer was written afterwards");
  });
  for (std::uint32_t i = 0; i < memory_.buffers(); ++i) {
    if (!memory_.borders_whole(BufferId{i}))
      fail(Invariant::kBytesRight, "bytes around a buffer were written");
  }
}

void World::check_budgets(std::uint32_t node) {
  const core::Endpoint::Footprint footprint = cluster_.endpoint(node).footprint();
  const auto within = [this](const char* what, std::size_t found, std::size_t limit) {
    if (found <= limit) return;
    fail(Invariant::kBudgetKept, std::string(what) + ": expected at most " + std::to_string(limit) +
                                     " bytes, found " + std::to_string(found));
  };
  within("flow", footprint.flow, kFlowBytesMax);
  within("path out", footprint.path_out, kPathBytesMax);
  within("path in", footprint.path_in, kPathBytesMax);
  within("communicator", footprint.communicator, kCommunicatorBytesMax);
  within("endpoint", footprint.endpoint, kEndpointBytesMax);
}

void World::check_counters(std::uint32_t node) {
  const core::Counters& counters = cluster_.endpoint(node).counters();
  const auto at_most = [&](core::Counter counter, std::uint64_t limit) {
    if (counters[counter] <= limit) return;
    fail(Invariant::kCountersSane, std::string(core::name_of(counter)) + ": expected at most " +
                                       std::to_string(limit) + ", found " +
                                       std::to_string(counters[counter]));
  };
  at_most(core::Counter::kPacketsSent, cluster_.sent_by(node));
  // A datagram whose length was damaged may count as two packets.
  at_most(core::Counter::kPacketsReceived,
          cluster_.received_by(node) + cluster_.fabric().total().corrupted);
  at_most(core::Counter::kPacketsLost, counters[core::Counter::kPacketsSent]);
  at_most(core::Counter::kBytesResent, counters[core::Counter::kBytesSent]);
}

}  // namespace zhinu::sim::check

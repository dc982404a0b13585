#include "base/check.h"
#include "sim/check/content.h"
#include "sim/check/expectation.h"
#include "sim/check/world.h"
#include "sim/check/world_timers.h"

namespace zhinu::sim::check {
namespace {

constexpr Duration kRetryInterval = microseconds(200);

core::CommunicatorId communicator_id(std::uint32_t id) {
  return core::CommunicatorId{static_cast<std::uint16_t>(id)};
}

}  // namespace

Item& World::item_of(ItemRef ref) {
  switch (ref.kind) {
    case ItemKind::kSend: return sends_[ref.index];
    case ItemKind::kReceive: return receives_[ref.index];
    case ItemKind::kAccess: break;
  }
  return accesses_[ref.index];
}

std::uint32_t World::node_of(ItemRef ref) const {
  if (ref.kind == ItemKind::kAccess) return scenario_.accesses[ref.index].from;
  const Message& message = scenario_.messages[ref.index];
  return ref.kind == ItemKind::kSend ? message.from : message.to;
}

bool World::in_send_pool(ItemRef ref) const {
  if (ref.kind == ItemKind::kAccess) return scenario_.accesses[ref.index].write;
  return ref.kind == ItemKind::kSend;
}

bool World::running(std::uint32_t node) const {
  return cluster_.started(node) && !cluster_.paused(node);
}

void World::post(ItemRef ref) {
  if (item_of(ref).state != ItemState::kUnposted) return;
  Backlog& backlog = nodes_[node_of(ref)].backlog;
  std::deque<ItemRef>& queue = in_send_pool(ref) ? backlog.sends : backlog.receives;
  // Behind others that wait, so that the order of posting is the order of the scenario.
  if (queue.empty() && try_post(ref) == Posted::kYes) return;
  queue.push_back(ref);
  queue_retry(node_of(ref));
}

World::Posted World::try_post(ItemRef ref) {
  Item& item = item_of(ref);
  const std::uint32_t node = item.node;
  if (!running(node)) return Posted::kBlocked;
  if (ref.kind == ItemKind::kAccess) {
    const auto slot = regions_.slot_state(ref.index);
    if (slot == Regions::SlotState::kBusy) return Posted::kLater;
    if (slot == Regions::SlotState::kDead) {
      item.state = ItemState::kSkipped;
      return Posted::kYes;
    }
  }
  const auto posted = ref.kind == ItemKind::kSend      ? post_send(ref, item)
                      : ref.kind == ItemKind::kReceive ? post_receive(ref, item)
                                                       : post_access(ref, item);
  cluster_.touch(node);
  if (!posted.ok()) return on_post_refused(ref, item, posted.error());
  on_posted(ref, item, posted.value());
  return Posted::kYes;
}

Result<core::Operation> World::post_send(ItemRef ref, Item& item) {
  const Message& message = scenario_.messages[ref.index];
  if (item.buffer.is_none()) {
    item.buffer = memory_.allocate(message.bytes);
    fill_content(content_key(scenario_.seed, message.id), 0, memory_.span(item.buffer));
    watch_.readable(item.buffer);
  }
  core::SendArgs args;
  args.peer = cluster_.peer(item.node, message.to);
  args.traffic_class = message.traffic_class;
  args.communicator = communicator_id(message.communicator);
  args.tag = message.tag;
  args.digest = message.send_digest;
  args.data = memory_.span(item.buffer);
  args.user = encode(ref);
  if (happens(message.send_deadline)) args.deadline = cluster_.now() + message.send_deadline;
  return cluster_.endpoint(item.node).send(cluster_.now(), args);
}

Result<core::Operation> World::post_receive(ItemRef ref, Item& item) {
  const Message& message = scenario_.messages[ref.index];
  if (item.buffer.is_none()) item.buffer = memory_.allocate(message.receive_bytes);
  core::ReceiveArgs args;
  if (!message.any_source) args.peer = cluster_.peer(item.node, message.from);
  args.traffic_class = message.traffic_class;
  args.communicator = communicator_id(message.communicator);
  args.tag = message.tag;
  args.digest = message.receive_digest;
  args.buffer = memory_.span(item.buffer);
  args.user = encode(ref);
  if (happens(message.receive_deadline)) args.deadline = cluster_.now() + message.receive_deadline;
  return cluster_.endpoint(item.node).receive(cluster_.now(), args);
}

Result<core::Operation> World::post_access(ItemRef ref, Item& item) {
  const Access& access = scenario_.accesses[ref.index];
  if (item.buffer.is_none()) {
    item.buffer = memory_.allocate(access.bytes);
    if (access.write) {
      fill_content(access_content(scenario_.seed, access.id), 0, memory_.span(item.buffer));
      watch_.readable(item.buffer);
    }
  }
  const core::PeerId peer = cluster_.peer(item.node, region_of(scenario_, access.region).node);
  const Instant deadline =
      happens(access.deadline) ? cluster_.now() + access.deadline : Instant::never();
  core::Endpoint& endpoint = cluster_.endpoint(item.node);
  if (!access.write) {
    return endpoint.read(cluster_.now(), {.peer = peer,
                                          .traffic_class = access.traffic_class,
                                          .communicator = communicator_id(access.communicator),
                                          .buffer = memory_.span(item.buffer),
                                          .region = regions_.key(ref.index),
                                          .offset = access.offset,
                                          .deadline = deadline,
                                          .user = encode(ref)});
  }
  return endpoint.write(cluster_.now(), {.peer = peer,
                                         .traffic_class = access.traffic_class,
                                         .communicator = communicator_id(access.communicator),
                                         .data = memory_.span(item.buffer),
                                         .region = regions_.key(ref.index),
                                         .offset = access.offset,
                                         .notify = access.notify,
                                         .ordered = access.ordered,
                                         .immediate = ref.index,
                                         .deadline = deadline,
                                         .user = encode(ref)});
}

World::Posted World::on_post_refused(ItemRef ref, Item& item, Errc error) {
  if (error == Errc::kFull) return Posted::kBlocked;
  const std::uint32_t other = other_end(scenario_, ref);
  const bool ended =
      error == Errc::kAborted && history_.communicator_ended(communicator_of(scenario_, ref));
  const bool closed = other != kAnyNode && history_.broken(item.node, other) &&
                      (error == Errc::kPeerClosed || error == Errc::kPeerUnreachable ||
                       error == Errc::kPeerRestarted);
  if (!ended && !closed) {
    fail(Invariant::kResultAllowed,
         named(ref) + ": the post was refused: " + std::string(errc_text(error)));
  }
  item.state = ItemState::kSkipped;
  if (!item.buffer.is_none()) watch_.released(item.buffer);
  return Posted::kYes;
}

void World::on_posted(ItemRef ref, Item& item, core::Operation operation) {
  item.state = ItemState::kPosted;
  item.operation = operation;
  item.order = ++post_order_;
  if (trace_) note("n" + std::to_string(item.node) + " " + named(ref) + " posted");
  item.posted_at = since_start();
  ++open_items_;
  ++(in_send_pool(ref) ? nodes_[item.node].open_sends : nodes_[item.node].open_receives);
  Duration cancel_after = kNever;
  Duration deadline = kNever;
  if (ref.kind == ItemKind::kAccess) {
    regions_.on_posted(ref.index);
    cancel_after = scenario_.accesses[ref.index].cancel;
    deadline = scenario_.accesses[ref.index].deadline;
  } else {
    const Message& message = scenario_.messages[ref.index];
    const bool sends = ref.kind == ItemKind::kSend;
    if (sends) streams_.on_send_posted(ref.index);
    cancel_after = sends ? message.send_cancel : message.receive_cancel;
    deadline = sends ? message.send_deadline : message.receive_deadline;
  }
  if (happens(deadline)) item.deadline = since_start() + deadline;
  if (happens(cancel_after)) {
    const WorldTimer timer = ref.kind == ItemKind::kSend      ? kCancelSend
                             : ref.kind == ItemKind::kReceive ? kCancelReceive
                                                              : kCancelAccess;
    at(since_start() + cancel_after, timer, ref.index);
  }
  if (saboteur_ != nullptr && saboteur_->release_early(ref)) watch_.released(item.buffer);
}

void World::retry(std::uint32_t node) {
  Backlog& backlog = nodes_[node].backlog;
  backlog.retry_queued = false;
  retry(backlog.sends);
  retry(backlog.receives);
  if (!backlog.empty()) queue_retry(node);
}

void World::retry(std::deque<ItemRef>& queue) {
  for (std::size_t left = queue.size(); left > 0; --left) {
    const ItemRef ref = queue.front();
    const Posted posted = try_post(ref);
    if (posted == Posted::kBlocked) return;
    queue.pop_front();
    // A write that waits for its slot lets the others by.
    if (posted == Posted::kLater) queue.push_back(ref);
  }
}

void World::queue_retry(std::uint32_t node) {
  Backlog& backlog = nodes_[node].backlog;
  if (backlog.retry_queued) return;
  backlog.retry_queued = true;
  at(since_start() + kRetryInterval, kRetryPosts, node);
}

void World::cancel(ItemRef ref) {
  Item& item = item_of(ref);
  if (!item.open()) return;
  if (cluster_.paused(item.node)) {
    const WorldTimer timer = ref.kind == ItemKind::kSend      ? kCancelSend
                             : ref.kind == ItemKind::kReceive ? kCancelReceive
                                                              : kCancelAccess;
    return at(since_start() + milliseconds(1), timer, ref.index);
  }
  item.cancel_asked = true;
  if (trace_) note("n" + std::to_string(item.node) + " " + named(ref) + " cancelled");
  // Refused as unknown if the item has ended and only its completion is still to come.
  const Status status = cluster_.endpoint(item.node).cancel(cluster_.now(), item.operation);
  if (!status.ok() && status.error() != Errc::kUnknownOperation) {
    fail(Invariant::kResultAllowed,
         named(ref) + ": cancel was refused: " + std::string(errc_text(status.error())));
  }
  cluster_.touch(item.node);
}

}  // namespace zhinu::sim::check

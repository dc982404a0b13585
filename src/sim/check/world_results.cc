#include "base/check.h"
#include "sim/check/content.h"
#include "sim/check/expectation.h"
#include "sim/check/world.h"

namespace zhinu::sim::check {
namespace {

bool kind_fits(ItemRef ref, const Scenario& scenario, core::OperationKind kind) {
  switch (kind) {
    case core::OperationKind::kSend: return ref.kind == ItemKind::kSend;
    case core::OperationKind::kReceive: return ref.kind == ItemKind::kReceive;
    case core::OperationKind::kWrite:
      return ref.kind == ItemKind::kAccess && scenario.accesses[ref.index].write;
    case core::OperationKind::kRead:
      return ref.kind == ItemKind::kAccess && !scenario.accesses[ref.index].write;
  }
  return false;
}

}  // namespace

void World::on_completion(std::uint32_t node, const core::Completion& completion) {
  if (completion.user == kNudgeUser) return;
  std::uint32_t times = 1;
  core::Completion seen = completion;
  if (saboteur_ != nullptr) times = saboteur_->completions(decode_item(completion.user), seen);
  for (; times > 0; --times) complete(node, seen);
}

void World::complete(std::uint32_t node, const core::Completion& completion) {
  const ItemRef ref = decode_item(completion.user);
  const std::size_t known =
      ref.kind == ItemKind::kAccess ? accesses_.size() : scenario_.messages.size();
  if (completion.user >> 32 > static_cast<std::uint64_t>(ItemKind::kAccess) || ref.index >= known)
    return fail(Invariant::kOneCompletion, "a completion for nothing that was posted");
  Item& item = item_of(ref);
  if (trace_) trace_(trace_completion(since_start(), node, named(ref), completion));
  if (!item.open() || item.node != node || !(completion.operation == item.operation) ||
      !kind_fits(ref, scenario_, completion.kind)) {
    return fail(Invariant::kOneCompletion,
                named(ref) +
                    (item.state == ItemState::kDone ? ": a second completion, "
                                                    : ": a completion out of place, ") +
                    std::string(errc_text(completion.status)));
  }
  if (!result_allowed(scenario_, streams_, history_, ref, item, completion.status, since_start())) {
    return fail(Invariant::kResultAllowed, named(ref) + " ended without cause as: " +
                                               std::string(errc_text(completion.status)));
  }
  item.status = completion.status;
  close_item(ref, item, ItemState::kDone);
  ++items_ended_;
  if (ref.kind == ItemKind::kReceive) end_receive(ref, item, completion);
  if (ref.kind == ItemKind::kAccess)
    fail(regions_.on_completion(ref.index, completion.status, memory_.span(item.buffer)));
  if (in_send_pool(ref)) {
    // The buffer is the user's again, and he uses it: a late resend would show.
    memory_.poison(item.buffer);
  } else {
    item.done_hash = hash_of(memory_.span(item.buffer));
    const MutableByteSpan bytes = memory_.span(item.buffer);
    if (saboteur_ != nullptr && !bytes.empty() && saboteur_->scribble(ref))
      bytes[bytes.size() / 2] ^= std::byte{1};
  }
}

void World::close_item(ItemRef ref, Item& item, ItemState state) {
  item.state = state;
  item.done_at = since_start();
  watch_.released(item.buffer);
  --open_items_;
  --(in_send_pool(ref) ? nodes_[item.node].open_sends : nodes_[item.node].open_receives);
  if (state == ItemState::kLost) item.done_hash = hash_of(memory_.span(item.buffer));
}

void World::end_receive(ItemRef ref, Item& item, const core::Completion& completion) {
  if (completion.status != Errc::kOk) return streams_.on_receive_failed(ref.index);
  const MutableByteSpan buffer = memory_.span(item.buffer);
  if (completion.bytes > buffer.size())
    return fail(Invariant::kBytesRight, named(ref) + ": more bytes than the buffer holds");
  const ByteSpan rest = buffer.subspan(completion.bytes);
  if (const std::size_t at = first_unpoisoned(rest); at != kAllRight) {
    return fail(Invariant::kBytesRight, named(ref) + ": byte " + std::to_string(at) +
                                            " behind the end of the message was written");
  }
  const std::uint32_t source = cluster_.node_of(item.node, completion.peer);
  fail(streams_.on_delivery(ref.index, item.order, source, completion.tag,
                            buffer.first(completion.bytes)));
}

void World::on_event(std::uint32_t node, const core::Event& event) {
  const std::uint32_t peer = cluster_.node_of(node, event.peer);
  if (trace_) trace_(trace_event(since_start(), node, peer, event));
  switch (event.kind) {
    case core::EventKind::kPeerUp:
      nodes_[node].met[peer] = nodes_[peer].starts;
      history_.on_met(node, peer);
      return watch_.on_peer_up(node, peer);
    case core::EventKind::kPeerDown: return on_peer_down(node, peer, event.code);
    case core::EventKind::kPeerSilent: return;
    case core::EventKind::kPathChanged:
      return watch_.on_path(node, peer, event.path, event.new_state);
    case core::EventKind::kAborted: return on_aborted(node, event);
    case core::EventKind::kNotification: {
      const bool known = event.immediate < accesses_.size();
      return fail(regions_.on_notification(node, peer, event,
                                           known ? &accesses_[event.immediate] : nullptr));
    }
  }
}

void World::on_peer_down(std::uint32_t node, std::uint32_t peer, Errc code) {
  if (!history_.broken(node, peer)) {
    fail(Invariant::kResultAllowed, "n" + std::to_string(node) + " gave up n" +
                                        std::to_string(peer) +
                                        " without cause: " + std::string(errc_text(code)));
  }
  watch_.on_peer_down(node, peer);
  nodes_[node].down_order[peer] = post_order_;
}

void World::on_aborted(std::uint32_t node, const core::Event& event) {
  const std::uint32_t communicator = event.communicator.value;
  if (communicator >= scenario_.communicators || !history_.communicator_ended(communicator)) {
    return fail(Invariant::kResultAllowed, "n" + std::to_string(node) + ": communicator " +
                                               std::to_string(communicator) +
                                               " was aborted without cause");
  }
  nodes_[node].aborted[communicator] = true;
}

void World::on_transmit(std::uint32_t node, const core::Transmit& transmit) {
  const std::uint32_t peer = cluster_.node_of(node, transmit.route.peer);
  if (trace_) trace_(trace_packet(since_start(), node, peer, transmit));
  if (verdict_.failed() || transmit.packet == nullptr) return;
  if (peer == Cluster::kNoNode)
    return fail(Invariant::kNonceUnique, "a sealed packet for a stranger");
  const bool slandered = saboteur_ != nullptr && saboteur_->slander_path();
  if (slandered) watch_.on_path(node, peer, transmit.route.path, core::PathState::kDead);
  const auto state_of = [&](std::uint8_t path) {
    if (slandered) return core::PathState::kDead;
    const auto status = cluster_.endpoint(node).path_status(transmit.route.peer, path);
    return status.ok() ? status.value().state : core::PathState::kGood;
  };
  fail(watch_.on_transmit(node, peer, transmit, state_of));
  if (saboteur_ != nullptr && saboteur_->repeat_packet())
    fail(watch_.on_transmit(node, peer, transmit, state_of));
}

std::uint32_t World::on_datagram(std::uint32_t /*node*/, const core::Transmit& transmit,
                                 MutableByteSpan bytes) {
  saboteur_->damage(transmit, bytes);
  return 1;
}

}  // namespace zhinu::sim::check

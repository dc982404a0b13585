#include "sim/check/expectation.h"

#include <algorithm>

#include "base/check.h"

namespace zhinu::sim::check {
namespace {

bool pair_broken(const Scenario& scenario, const History& history, ItemRef ref, const Item& item) {
  const std::uint32_t other = other_end(scenario, ref);
  return other == kAnyNode ? history.any_broken(item.node) : history.broken(item.node, other);
}

bool peer_gave_up(const Scenario& scenario, const Streams& streams, const History& history,
                  ItemRef ref) {
  if (history.all_cancelled()) return true;
  if (ref.kind != ItemKind::kAccess) return streams.may_give_up(streams.stream_of(ref.index));
  const Access& access = scenario.accesses[ref.index];
  return happens(region_of(scenario, access.region).revoke_at);
}

bool region_refused(const Scenario& scenario, const History& history, ItemRef ref,
                    const Item& item) {
  if (ref.kind != ItemKind::kAccess) return false;
  const Region& region = region_of(scenario, scenario.accesses[ref.index].region);
  return happens(region.revoke_at) || history.restarted(item.node, region.node);
}

}  // namespace

const Region& region_of(const Scenario& scenario, std::uint32_t id) {
  const auto found = std::find_if(scenario.regions.begin(), scenario.regions.end(),
                                  [id](const Region& region) { return region.id == id; });
  ZHINU_ASSERT(found != scenario.regions.end());
  return *found;
}

std::uint32_t other_end(const Scenario& scenario, ItemRef ref) {
  switch (ref.kind) {
    case ItemKind::kSend: return scenario.messages[ref.index].to;
    case ItemKind::kReceive:
      return scenario.messages[ref.index].any_source ? kAnyNode : scenario.messages[ref.index].from;
    case ItemKind::kAccess: return region_of(scenario, scenario.accesses[ref.index].region).node;
  }
  return kAnyNode;
}

std::uint32_t communicator_of(const Scenario& scenario, ItemRef ref) {
  return ref.kind == ItemKind::kAccess ? scenario.accesses[ref.index].communicator
                                       : scenario.messages[ref.index].communicator;
}

bool result_allowed(const Scenario& scenario, const Streams& streams, const History& history,
                    ItemRef ref, const Item& item, Errc status, Duration now) {
  const bool message = ref.kind != ItemKind::kAccess;
  const std::uint32_t stream = message ? streams.stream_of(ref.index) : 0;
  const bool ended = history.communicator_ended(communicator_of(scenario, ref));
  // A list of pairs, not a switch: what is not named here is never allowed.
  if (status == Errc::kOk) return true;
  if (status == Errc::kCancelled) return item.cancel_asked;
  if (status == Errc::kDeadlineExceeded) return happens(item.deadline) && now >= item.deadline;
  if (status == Errc::kTruncated) return message && streams.may_truncate(stream);
  if (status == Errc::kDigestMismatch) return message && streams.may_mismatch(stream);
  if (status == Errc::kAborted) return ended;
  if (status == Errc::kRegionRefused) return region_refused(scenario, history, ref, item);
  if (status == Errc::kPeerCancelled) {
    return peer_gave_up(scenario, streams, history, ref) || ended ||
           pair_broken(scenario, history, ref, item);
  }
  if (status == Errc::kPeerUnreachable) return history.peers_time_out();
  if (status == Errc::kPeerRestarted || status == Errc::kPeerClosed)
    return pair_broken(scenario, history, ref, item);
  return false;
}

}  // namespace zhinu::sim::check

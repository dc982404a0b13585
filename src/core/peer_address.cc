#include "core/peer_address.h"

#include <algorithm>
#include <optional>

namespace zhinu::core {
namespace {

bool leads_to(const Peer& peer, const Address& address) {
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    if (peer.paths.config(static_cast<std::uint8_t>(i)).remote == address) return true;
  }
  return false;
}

bool heard_from(const Peer& peer, const Address& address) {
  return std::any_of(peer.in_paths.begin(), peer.in_paths.end(), [&address](const InPath* path) {
    return path != nullptr && path->from_known && path->from == address;
  });
}

// The address that our NIC sends to, if there is exactly one; with `silent`, of those that
// nothing came from.
std::optional<Address> only_remote(const Peer& peer, std::uint8_t nic, bool silent) {
  std::optional<Address> remote;
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const PathConfig& config = peer.paths.config(static_cast<std::uint8_t>(i));
    if (config.nic != nic || (silent && heard_from(peer, config.remote))) continue;
    if (remote.has_value() && !(*remote == config.remote)) return std::nullopt;
    remote = config.remote;
  }
  return remote;
}

bool move_paths(Instant now, Peer& peer, const Address& from, const Address& to) {
  bool moved = false;
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    if (!(peer.paths.config(path).remote == from)) continue;
    peer.paths.on_address_changed(now, path, to);
    moved = true;
  }
  if (moved) peer.former_address = from;
  return moved;
}

}  // namespace

bool learn_address(Instant now, Peer& peer, InPath& path, const Arrival& arrival) {
  const bool known = path.from_known;
  const Address old = path.from;
  path.from_known = true;
  path.from = arrival.from;
  if (known && move_paths(now, peer, old, arrival.from)) return true;
  if (leads_to(peer, arrival.from)) return false;
  // A packet of another path that left before the move and came after it.
  if (peer.former_address == arrival.from) return false;
  // Its NIC moved before this path was used. The old address is the one that ours sends to.
  auto remote = only_remote(peer, arrival.nic, true);
  if (!remote.has_value()) remote = only_remote(peer, arrival.nic, false);
  return remote.has_value() && move_paths(now, peer, *remote, arrival.from);
}

}  // namespace zhinu::core

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

// The address that our NIC sends to and that nothing came from, if there is exactly one.
std::optional<Address> silent_address(const Peer& peer, std::uint8_t nic) {
  std::optional<Address> silent;
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const PathConfig& config = peer.paths.config(static_cast<std::uint8_t>(i));
    if (config.nic != nic || heard_from(peer, config.remote)) continue;
    if (silent.has_value() && !(*silent == config.remote)) return std::nullopt;
    silent = config.remote;
  }
  return silent;
}

bool move_paths(Instant now, Peer& peer, const Address& from, const Address& to) {
  bool moved = false;
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    if (!(peer.paths.config(path).remote == from)) continue;
    peer.paths.on_address_changed(now, path, to);
    moved = true;
  }
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
  // It moved before it was heard. Its old address is the one that this NIC sends to in vain.
  const auto silent = silent_address(peer, arrival.nic);
  return silent.has_value() && move_paths(now, peer, *silent, arrival.from);
}

}  // namespace zhinu::core

// Looks at every packet that leaves: where its payload lies, its number, its path.
//
// no_resend_from_changed_buffer: payload must not come from memory that was given
// back. nonce_unique: numbers of (connection, path) only grow. dead_path_silent: a
// path that the endpoint reported as dead, held or probing carries probes only.
// Thread rule: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/endpoint.h"
#include "sim/check/memory.h"
#include "sim/check/streams.h"

namespace zhinu::sim::check {

class WireWatch {
 public:
  static constexpr std::size_t kPathsMax = 64;

  WireWatch(std::uint32_t nodes, const Memory& memory);

  // What may leave from a buffer: nothing before readable(), nothing after released().
  void readable(BufferId buffer) { set_use(buffer, Use::kReadable); }
  void released(BufferId buffer) { set_use(buffer, Use::kReleased); }

  void on_restart(std::uint32_t node);
  void on_path(std::uint32_t node, std::uint32_t peer, std::uint8_t path, core::PathState state);
  // A new connection with the peer: the paths start again.
  void on_peer_up(std::uint32_t node, std::uint32_t peer);
  void on_peer_down(std::uint32_t node, std::uint32_t peer) { on_peer_up(node, peer); }

  // What is wrong with a packet of `node` to the node `peer`. `state_of(path)` is the
  // state that the endpoint gives when asked: its last report may still wait to be polled.
  template <class StateOf>
  std::optional<Streams::Wrong> on_transmit(std::uint32_t node, std::uint32_t peer,
                                            const core::Transmit& transmit, StateOf state_of) {
    if (transmit.packet == nullptr) return std::nullopt;
    PeerPaths& paths = paths_of(node, peer);
    if (auto wrong = check_number(paths, transmit.packet->header)) return wrong;
    if (auto wrong = check_payload(*transmit.packet)) return wrong;
    if (!must_be_silent(paths.states[transmit.route.path])) return std::nullopt;
    return check_silence(node, peer, *transmit.packet, state_of(transmit.route.path));
  }

 private:
  enum class Use : std::uint8_t { kForbidden, kReadable, kReleased };
  struct Numbers {
    std::uint64_t connection = 0;
    std::array<std::uint64_t, kPathsMax> next{};  // smallest number that was not yet used
  };
  struct PeerPaths {
    std::vector<Numbers> connections;
    std::array<core::PathState, kPathsMax> states{};
  };

  void set_use(BufferId buffer, Use use);
  PeerPaths& paths_of(std::uint32_t node, std::uint32_t peer) {
    return peers_[std::size_t{node} * nodes_ + peer];
  }
  std::optional<Streams::Wrong> check_number(PeerPaths& paths, const wire::Header& header) const;
  std::optional<Streams::Wrong> check_payload(const wire::Packet& packet) const;
  static bool must_be_silent(core::PathState state);
  static std::optional<Streams::Wrong> check_silence(std::uint32_t node, std::uint32_t peer,
                                                     const wire::Packet& packet,
                                                     core::PathState state);

  std::uint32_t nodes_;
  const Memory& memory_;
  std::vector<Use> uses_;  // by buffer
  std::vector<PeerPaths> peers_;
};

}  // namespace zhinu::sim::check

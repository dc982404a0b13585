#include "sim/check/wire_watch.h"

#include "base/check.h"

namespace zhinu::sim::check {
namespace {

bool only_probes(const wire::Packet& packet) {
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const wire::FrameKind kind = packet.frames[i].kind;
    if (kind != wire::FrameKind::kPathProbe && kind != wire::FrameKind::kPadding) return false;
  }
  return true;
}

}  // namespace

WireWatch::WireWatch(std::uint32_t nodes, const Memory& memory)
    : nodes_(nodes), memory_(memory), peers_(std::size_t{nodes} * nodes) {}

void WireWatch::set_use(BufferId buffer, Use use) {
  if (uses_.size() <= buffer.value) uses_.resize(buffer.value + 1, Use::kForbidden);
  uses_[buffer.value] = use;
}

void WireWatch::on_restart(std::uint32_t node) {
  for (std::uint32_t peer = 0; peer < nodes_; ++peer) paths_of(node, peer) = PeerPaths{};
}

void WireWatch::on_path(std::uint32_t node, std::uint32_t peer, std::uint8_t path,
                        core::PathState state) {
  ZHINU_ASSERT(path < kPathsMax);
  paths_of(node, peer).states[path] = state;
}

void WireWatch::on_peer_up(std::uint32_t node, std::uint32_t peer) {
  paths_of(node, peer).states.fill(core::PathState::kGood);
}

bool WireWatch::must_be_silent(core::PathState state) {
  return state == core::PathState::kDead || state == core::PathState::kHeld ||
         state == core::PathState::kProbing;
}

std::optional<Streams::Wrong> WireWatch::check_silence(std::uint32_t node, std::uint32_t peer,
                                                       const wire::Packet& packet,
                                                       core::PathState state) {
  if (!must_be_silent(state) || only_probes(packet)) return std::nullopt;
  return Streams::Wrong{Invariant::kDeadPathSilent,
                        "path " + std::to_string(packet.header.path) + " from n" +
                            std::to_string(node) + " to n" + std::to_string(peer) + " is " +
                            core::name_of(state) + " and carries a frame of kind " +
                            std::to_string(static_cast<int>(packet.frames[0].kind))};
}

std::optional<Streams::Wrong> WireWatch::check_number(PeerPaths& paths,
                                                      const wire::Header& header) const {
  Numbers* numbers = nullptr;
  for (Numbers& known : paths.connections)
    if (known.connection == header.connection) numbers = &known;
  if (numbers == nullptr) {
    paths.connections.push_back({.connection = header.connection, .next = {}});
    numbers = &paths.connections.back();
  }
  ZHINU_ASSERT(header.path < kPathsMax);
  std::uint64_t& next = numbers->next[header.path];
  if (header.number < next) {
    return Streams::Wrong{Invariant::kNonceUnique,
                          "packet number " + std::to_string(header.number) + " on path " +
                              std::to_string(header.path) + ", expected at least " +
                              std::to_string(next)};
  }
  next = header.number + 1;
  return std::nullopt;
}

std::optional<Streams::Wrong> WireWatch::check_payload(const wire::Packet& packet) const {
  for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
    const wire::Frame& frame = packet.frames[i];
    if (!wire::has_payload(frame.kind) || frame.length == 0) continue;
    const BufferId buffer = memory_.find(frame.payload);
    if (buffer.is_none()) continue;  // memory of the endpoint itself
    const Use use = buffer.value < uses_.size() ? uses_[buffer.value] : Use::kForbidden;
    if (use == Use::kReadable) continue;
    return Streams::Wrong{
        Invariant::kNoResendFromChanged,
        std::to_string(frame.length) + " bytes in a frame of kind " +
            std::to_string(static_cast<int>(frame.kind)) + " leave from a buffer that " +
            (use == Use::kReleased ? "was given back" : "was never given to be sent")};
  }
  return std::nullopt;
}

}  // namespace zhinu::sim::check

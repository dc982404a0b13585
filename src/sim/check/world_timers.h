// What the timers of a world mean; the value of a timer is kind and index.
#pragma once

#include <cstdint>

namespace zhinu::sim::check {

enum WorldTimer : std::uint32_t {
  kPostSend,
  kPostReceive,
  kPostAccess,
  kCancelSend,
  kCancelReceive,
  kCancelAccess,
  kRevokeRegion,
  kStartAction,
  kEndAction,
  kStartLinkFault,
  kEndLinkFault,
  kStartPartition,
  kEndPartition,
  kRetryPosts,  // index: node
  kNudge,       // index: node * kNodesMax + peer
  kHealAll,
  kTick,
};

constexpr std::uint64_t encode_timer(std::uint32_t timer, std::uint32_t index) {
  return std::uint64_t{timer} << 32 | index;
}

}  // namespace zhinu::sim::check

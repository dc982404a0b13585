// What happened, counted. Drops have one counter per reason; nothing is dropped
// silently. Owned by the endpoint, read by anyone on the endpoint's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace zhinu::core {

enum class Counter : std::uint8_t {
  kPacketsSent,
  kPacketsReceived,
  kBytesSent,
  kBytesReceived,
  kMessagesSent,      // first transmission of a message
  kMessagesReceived,  // delivered to a receive, region or reader
  kPacketsLost,       // declared lost by the sender
  kBytesResent,
  kAcksSent,
  kProbeTimeouts,
  kTimersFired,
  kPathsDied,
  kPathsReturned,
  kEagerNotHeld,  // messages answered with "not held"
  kGrantsSent,
  kCreditProbes,
  kLateSegments,  // for a retired message: acknowledged and dropped
  kDuplicateMessages,
  kDuplicateSegments,
  kRekeys,
  kAddressChanges,
  // Drops, by reason.
  kDropTruncated,
  kDropBadLength,
  kDropBadVersion,
  kDropBadKind,
  kDropBadFrame,
  kDropBadClass,
  kDropBadTag,
  kDropUnknownConnection,
  kDropReplayed,
  kDropTooOld,
  kDropBadPath,
  kDropBadAck,
  kDropBadCookie,
  kDropWrongWorld,
  kDropNoRoom,           // a pool was full: the packet counts as lost, the sender repeats it
  kDropEarlySegment,     // a segment whose announcement is not here yet
  kDropUnexpectedState,  // a handshake packet that fits no handshake
  kDropEvents,           // the event ring was full (path and peer notices only)
  kCount,
};

inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::kCount);

class Counters {
 public:
  void add(Counter counter, std::uint64_t n = 1) {
    values_[static_cast<std::size_t>(counter)] += n;
  }
  std::uint64_t operator[](Counter counter) const {
    return values_[static_cast<std::size_t>(counter)];
  }

 private:
  std::array<std::uint64_t, kCounters> values_{};
};

// The counter of packets dropped for this reason.
Counter drop_counter(Errc reason) noexcept;

// Snake-case name for metrics and logs.
const char* name_of(Counter counter) noexcept;

}  // namespace zhinu::core

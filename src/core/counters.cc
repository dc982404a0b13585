#include "core/counters.h"

#include "base/check.h"

namespace zhinu::core {

namespace {

struct DropReason {
  Errc reason;
  Counter counter;
};

constexpr DropReason kDropReasons[] = {
    {Errc::kTruncatedPacket, Counter::kDropTruncated},
    {Errc::kBadLength, Counter::kDropBadLength},
    {Errc::kBadVersion, Counter::kDropBadVersion},
    {Errc::kBadKind, Counter::kDropBadKind},
    {Errc::kBadFrame, Counter::kDropBadFrame},
    {Errc::kBadClass, Counter::kDropBadClass},
    {Errc::kBadTag, Counter::kDropBadTag},
    {Errc::kUnknownConnection, Counter::kDropUnknownConnection},
    {Errc::kReplayed, Counter::kDropReplayed},
    {Errc::kTooOld, Counter::kDropTooOld},
    {Errc::kBadPath, Counter::kDropBadPath},
    {Errc::kBadAck, Counter::kDropBadAck},
    {Errc::kBadCookie, Counter::kDropBadCookie},
    {Errc::kWrongWorld, Counter::kDropWrongWorld},
    {Errc::kFull, Counter::kDropNoRoom},
};

}  // namespace

Counter drop_counter(Errc reason) noexcept {
  for (const DropReason& known : kDropReasons) {
    if (known.reason == reason) return known.counter;
  }
  return Counter::kDropUnexpectedState;
}
namespace {

// In the order of Counter.
constexpr const char* kNames[] = {
    "packets_sent",
    "packets_received",
    "bytes_sent",
    "bytes_received",
    "messages_sent",
    "messages_received",
    "packets_lost",
    "bytes_resent",
    "acks_sent",
    "probe_timeouts",
    "timers_fired",
    "paths_died",
    "paths_returned",
    "eager_not_held",
    "grants_sent",
    "credit_probes",
    "late_segments",
    "duplicate_messages",
    "duplicate_segments",
    "rekeys",
    "address_changes",
    "drop_truncated",
    "drop_bad_length",
    "drop_bad_version",
    "drop_bad_kind",
    "drop_bad_frame",
    "drop_bad_class",
    "drop_bad_tag",
    "drop_unknown_connection",
    "drop_replayed",
    "drop_too_old",
    "drop_bad_path",
    "drop_bad_ack",
    "drop_bad_cookie",
    "drop_wrong_world",
    "drop_no_room",
    "drop_early_segment",
    "drop_unexpected_state",
    "drop_events",
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kCounters);

}  // namespace

const char* name_of(Counter counter) noexcept {
  ZHINU_ASSERT(counter < Counter::kCount);
  return kNames[static_cast<std::size_t>(counter)];
}

}  // namespace zhinu::core

// One incoming path: replay window, what must be acknowledged, ECN marks.
//
// At most 256 bytes. One bitmap serves as replay window and as source of the ACK
// ranges. A packet that the endpoint has no room for is simply not recorded: to
// the sender it is lost. Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "core/types.h"
#include "wire/packet.h"

namespace zhinu::core {

class InPath {
 public:
  static constexpr std::uint32_t kWindowPackets = 1'024;

  // The number to expand the next truncated one against (largest + 1).
  std::uint64_t expected_number() const { return seen_any_ ? largest_ + 1 : 0; }

  // kReplayed, kTooOld (below the window), or ok. Changes nothing.
  Status check(std::uint64_t number) const;

  // Records an accepted packet. Call only after check() was ok.
  // `elicits_ack`: holds something else than ACKs, closes and padding.
  void on_packet(Instant now, std::uint64_t number, std::uint32_t bytes, bool elicits_ack,
                 bool ecn_marked);

  // An ACK should leave at this instant at the latest; never() if none is owed.
  // Immediate (an instant not after the last arrival) when a gap appeared or was
  // filled, at an ECN mark, or when `ack_bytes_max` is reached; else first
  // unacknowledged arrival + `ack_delay`.
  Instant ack_deadline(Duration ack_delay, std::uint32_t ack_bytes_max) const;
  bool owes_ack() const { return unacked_bytes_ > 0; }
  // The sender repeats things we acknowledged: it did not get our ACKs.
  void force_ack(Instant now);

  // Writes the newest ranges, highest first, into `out` (at least 1); returns how
  // many. The first range may reach below the bitmap when all before it arrived.
  std::uint32_t ranges(std::span<wire::AckRange> out) const;
  // Time since the largest number arrived, for the peer's RTT sample.
  Duration delay(Instant now) const { return now - largest_at_; }
  std::uint32_t ecn_marked() const { return ecn_marked_; }
  void on_ack_sent();

  // Where this path's packets come from; the core compares it with each arrival.
  Address from;
  bool from_known = false;

 private:
  // Exact members are the implementer's choice within the 256-byte budget.
  std::array<std::uint64_t, kWindowPackets / 64> bitmap_{};
  std::uint64_t largest_ = 0;
  std::uint64_t run_first_ = 0;  // all of [run_first_, bottom of the bitmap] arrived
  Instant largest_at_;
  Instant first_unacked_at_;
  std::uint32_t unacked_bytes_ = 0;
  std::uint32_t ecn_marked_ = 0;
  bool seen_any_ = false;
  bool ack_now_ = false;
};
static_assert(sizeof(InPath) <= 256);

}  // namespace zhinu::core

// One incoming path: replay window, what must be acknowledged, ECN marks.
//
// At most 256 bytes. One bitmap serves as replay window and as source of the ACK
// ranges. A packet that the endpoint has no room for is simply not recorded: to
// the sender it is lost. Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/check.h"
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
  Status check(std::uint64_t number) const {
    if (!seen_any_ || number > largest_) return {};
    if (largest_ - number >= kWindowPackets) return Errc::kTooOld;
    return arrived(number) ? Errc::kReplayed : Errc::kOk;
  }

  // Records an accepted packet. Call only after check() was ok.
  // `elicits_ack`: holds something else than ACKs, closes and padding.
  void on_packet(Instant now, std::uint64_t number, std::uint32_t bytes, bool elicits_ack,
                 bool ecn_marked) {
    ZHINU_ASSERT(check(number).ok());
    const bool in_order = number == expected_number();
    if (in_order && number >= kWindowPackets && !arrived(number - kWindowPackets)) {
      run_first_ = number - kWindowPackets + 1;
    }
    if (!in_order) make_place(number);
    bitmap_[number / kWordBits % kWords] |= 1ULL << (number % kWordBits);
    if (!seen_any_ || number > largest_) {
      seen_any_ = true;
      largest_ = number;
      largest_at_ = now;
    }
    ecn_marked_ += ecn_marked ? 1 : 0;
    if (elicits_ack) owe_ack(now, bytes, ecn_marked || !in_order);
  }

  // An ACK should leave at this instant at the latest; never() if none is owed.
  // Immediate (an instant not after the last arrival) when a gap appeared or was
  // filled, at an ECN mark, or when `ack_bytes_max` is reached; else first
  // unacknowledged arrival + `ack_delay`.
  Instant ack_deadline(Duration ack_delay, std::uint32_t ack_bytes_max) const {
    if (!owes_ack()) return Instant::never();
    const bool at_once = ack_now_ || unacked_bytes_ >= ack_bytes_max;
    return at_once ? first_unacked_at_ : first_unacked_at_ + ack_delay;
  }
  bool owes_ack() const { return unacked_bytes_ > 0; }
  // The sender repeats things we acknowledged: it did not get our ACKs. No-op before
  // the first packet, as there is nothing to name.
  void force_ack(Instant now);

  // Writes the newest ranges, highest first, into `out` (at least 1); returns how
  // many, 0 before the first packet. The range that reaches the bottom of the bitmap
  // goes on below it as far as all arrived.
  std::uint32_t ranges(std::span<wire::AckRange> out) const;
  // Time since the largest number arrived, for the peer's RTT sample.
  Duration delay(Instant now) const { return now - largest_at_; }
  std::uint32_t ecn_marked() const { return ecn_marked_; }
  void on_ack_sent() {
    unacked_bytes_ = 0;
    ack_now_ = false;
  }

  // Where this path's packets come from; the core compares it with each arrival.
  Address from;
  bool from_known = false;

 private:
  friend struct InPathStart;  // lets a test begin after more packets than it can send

  static constexpr std::uint32_t kWordBits = 64;
  static constexpr std::uint32_t kWords = kWindowPackets / kWordBits;
  // The wire counts a range in 32 bits.
  static constexpr std::uint64_t kRangePacketsMax = 1ULL << 31;

  bool arrived(std::uint64_t number) const {
    return (bitmap_[number / kWordBits % kWords] >> (number % kWordBits) & 1) != 0;
  }
  void owe_ack(Instant now, std::uint32_t bytes, bool at_once) {
    if (!owes_ack()) first_unacked_at_ = now;
    // At the top it stays: the sum only has to reach `ack_bytes_max`.
    const std::uint32_t sum = unacked_bytes_ + (bytes > 0 ? bytes : 1);
    unacked_bytes_ = sum > unacked_bytes_ ? sum : ~0U;
    ack_now_ = ack_now_ || at_once;
  }
  std::uint64_t bottom() const {
    return largest_ < kWindowPackets ? 0 : largest_ - kWindowPackets + 1;
  }
  void make_place(std::uint64_t number);
  std::uint64_t run_start(std::uint64_t number, std::uint64_t stop, bool value) const;

  std::array<std::uint64_t, kWords> bitmap_{};  // ring, bit of number n at n % kWindowPackets
  std::uint64_t largest_ = 0;
  std::uint64_t run_first_ = 0;  // all of [run_first_, bottom of the bitmap) arrived
  Instant largest_at_;
  Instant first_unacked_at_;
  std::uint32_t unacked_bytes_ = 0;
  std::uint32_t ecn_marked_ = 0;
  bool seen_any_ = false;
  bool ack_now_ = false;
};
static_assert(sizeof(InPath) <= 256);

}  // namespace zhinu::core

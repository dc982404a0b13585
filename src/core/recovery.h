// Packets under way: acknowledgement, loss, probes, and what a dead path leaves.
//
// Internal to src/core. Loss is judged per path, since only a path keeps order
// (design decision 5): by three later packets acknowledged or by time (RFC 9002,
// section 6.1). What a lost packet carried is repeated under a new number; the
// old number never comes again. Thread rule: the endpoint's.
#pragma once

#include <span>

#include "core/outgoing.h"
#include "core/state.h"
#include "core/transfers.h"

namespace zhinu::core {

class Recovery {
 public:
  Recovery(State& state, Outgoing& outgoing) : state_(state), outgoing_(outgoing) {}

  // A packet that elicits an ACK left; `sent_slot` holds its number, time, bytes and items.
  void on_sent(Peer& peer, std::uint32_t sent_slot);
  // A number was left out on purpose. Without room the trap is not laid.
  void on_skipped(Instant now, Peer& peer, std::uint8_t path, std::uint64_t number);

  // An ACK frame and its decoded ranges. False: it names what was never sent.
  bool on_ack(Instant now, Peer& peer, const wire::Frame& frame, std::span<wire::AckRange> ranges,
              const RefusedNumbers& refused);

  // The path is dead: everything on it is lost at once and paced out again elsewhere.
  void flush_path(Instant now, Peer& peer, std::uint8_t path);
  // The peer is gone: forgets all packets and what they meant.
  void forget(Peer& peer);

  Instant timeout(const Peer& peer) const;
  void handle_timeout(Instant now, Peer& peer);

  static constexpr std::uint64_t kReorderPackets = 3;

 private:
  struct AckedTotals {
    std::uint32_t bytes = 0;
    std::uint32_t packets = 0;
    std::uint64_t newest = 0;  // number
    std::array<std::uint64_t, kTrafficClasses> class_bytes{};
  };
  bool take_acked(Peer& peer, std::uint8_t path, std::span<const wire::AckRange> ranges,
                  const RefusedNumbers& refused, AckedTotals& totals,
                  std::optional<Instant>& newest_sent_at);
  void acknowledge(Peer& peer, std::uint32_t sent_slot, const RefusedNumbers& refused);
  void detect_losses(Instant now, Peer& peer, std::uint8_t path);
  void slow_down(Instant now, Peer& peer);
  void lose(Instant now, Peer& peer, std::uint32_t sent_slot);
  void forget_refusals(Peer& peer, const SentItem& item);
  void on_control_lost(Peer& peer, const SentItem& item);
  void on_control_acked(Peer& peer, const SentItem& item);
  void on_endings_acked(Peer& peer, const SentItem& item);
  Instant probe_at(const Peer& peer, std::uint8_t path) const;

  State& state_;
  Outgoing& outgoing_;
};

}  // namespace zhinu::core

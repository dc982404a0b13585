// The outgoing paths of one peer: which to use, how healthy each is.
//
// Owns packet numbers (with deliberate gaps), RTT estimates, the spray by trains,
// and the state machine good -> suspect -> dead -> held -> probing -> good with
// its probes (design decisions 5 to 8). It does not know messages: the owner
// reports what it sends and hears and moves the contents of a dead path.
// State is one-directional: only silence of the sender's own packets counts,
// never ICMP, a bad tag or what the peer says of its paths.
// At most 256 bytes a path. Thread rule: one owner at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/prng.h"
#include "base/time.h"
#include "core/options.h"
#include "core/types.h"

namespace zhinu::core {

struct PathTransition {
  std::uint8_t path = 0;
  PathState from = PathState::kGood;
  PathState to = PathState::kGood;
};

struct PathProbe {
  std::uint8_t path = 0;
  std::uint64_t challenge = 0;
  std::uint32_t pad_to_bytes = 0;  // packet size to reach: a returning path is probed under load
};

class PathTable {
 public:
  // `paths_max` bounds add(); all memory is allocated here.
  PathTable(const PathOptions& options, Duration initial_rtt, std::uint32_t train_bytes,
            std::uint32_t paths_max, std::uint64_t seed);

  // kFull. New paths are good at once: the handshake has proved one, others prove
  // themselves by use (suspicion needs no history).
  Result<std::uint8_t> add(const PathConfig& config);
  std::uint32_t size() const { return count_; }
  const PathConfig& config(std::uint8_t path) const;
  PathState state(std::uint8_t path) const;
  // Usable for data: good or suspect. With every path bad the last suspect stays usable.
  bool usable(std::uint8_t path) const;

  // The path for the next data packet of `bytes`: the current train's path until
  // the train is full, then the usable path with the fewest bytes in flight over
  // its effective weight (ties: least recently used). none if no path is usable.
  std::optional<std::uint8_t> choose(std::uint32_t bytes);
  // Ends the current train, so that the next choose() picks anew.
  void end_train();
  // The best path for ACKs and other control: good before suspect, lowest RTT,
  // and not the one that `avoid_for_acks` was last called on while another is good.
  std::optional<std::uint8_t> best() const;
  // A duplicate from the peer says that our ACKs do not arrive: use another path.
  void rotate_ack_path();

  // Takes the next packet number of the path. `skipped` tells a number that was
  // left out on purpose just before it (at most one), which a valid ACK never names.
  struct Number {
    std::uint64_t value = 0;
    std::optional<std::uint64_t> skipped;
  };
  Number next_number(std::uint8_t path);
  std::uint64_t largest_sent(std::uint8_t path) const;  // last value given out; 0 before the first

  // Notifications. `bytes` of packets that elicit an ACK.
  void on_sent(Instant now, std::uint8_t path, std::uint32_t bytes);
  // An ACK named packets of `path` (`acked_bytes` left the flight; `newest_sent_at` is when the
  // largest newly acknowledged packet left, `ack_delay` what the peer says it waited, `marked`
  // the growth of the peer's ECN count, `packets` how many were newly acknowledged).
  void on_ack(Instant now, std::uint8_t path, std::uint32_t acked_bytes, std::uint32_t packets,
              std::optional<Instant> newest_sent_at, Duration ack_delay, std::uint32_t marked);
  void on_lost(Instant now, std::uint8_t path, std::uint32_t bytes, std::uint32_t packets);
  // The owner moved the contents of a dead path: nothing of it is in flight any more.
  void on_flushed(std::uint8_t path);
  // A probe of ours was answered; wrong challenges are ignored (false).
  bool on_probe_response(Instant now, std::uint8_t path, std::uint64_t challenge);
  // The peer's address behind the path changed: probe it before further use.
  void on_address_changed(Instant now, std::uint8_t path, const Address& remote);

  // Output: probes to send now (at most one a call) and transitions to report.
  std::optional<PathProbe> poll_probe(Instant now);
  std::optional<PathTransition> poll_transition();
  // Earliest instant at which handle_timeout has something to do.
  Instant timeout() const;
  void handle_timeout(Instant now);

  // Measurements. Zero RTT = no sample yet.
  Duration smoothed_rtt(std::uint8_t path) const;
  Duration rtt_variation(std::uint8_t path) const;
  Duration min_rtt(std::uint8_t path) const;
  Duration best_rtt() const;  // smallest smoothed RTT of good paths, else initial_rtt
  // Loss detection by time: a packet is lost this long after a later one was acknowledged.
  Duration loss_delay(std::uint8_t path) const;
  // Probe time-out: smoothed + 4 variations + the peer's ACK delay, doubled per round without
  // an answer, at most `probe_timeout_max` is applied by the caller.
  Duration probe_timeout(std::uint8_t path, Duration peer_ack_delay) const;
  std::uint64_t in_flight_bytes(std::uint8_t path) const;
  std::uint16_t weight(std::uint8_t path) const;  // in effect: base × multiplier × ramp, 256 = 1.0
  std::uint32_t share_per_mille(std::uint8_t path) const;  // of all usable weights
  std::uint64_t packets_sent(std::uint8_t path) const;
  std::uint64_t packets_lost(std::uint8_t path) const;
  // Medians over the paths used in the last round: what the window follows (decision 9).
  Duration median_queue_delay() const;
  std::uint32_t median_marked_per_mille() const;

 private:
  struct Path;  // <= 256 bytes, asserted in the source
  std::unique_ptr<Path[]> paths_;
  std::uint32_t count_ = 0;
  // further members are the implementer's choice
};

}  // namespace zhinu::core

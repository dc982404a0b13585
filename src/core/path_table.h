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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/time.h"
#include "core/options.h"
#include "core/path_health.h"
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
  static constexpr std::uint32_t kPathsMax = 64;

  // `paths_max` bounds add(), itself at most kPathsMax.
  PathTable(const PathOptions& options, Duration initial_rtt, std::uint32_t train_bytes,
            std::uint32_t paths_max, std::uint64_t seed);
  ~PathTable();
  PathTable(PathTable&&) noexcept;
  PathTable& operator=(PathTable&&) noexcept;

  // kFull. New paths are good at once: the handshake has proved one, others prove
  // themselves by use (suspicion needs no history). Allocates, unless reserve() did.
  Result<std::uint8_t> add(const PathConfig& config);
  void reserve(std::size_t paths);
  // For new keys: the paths stay, their numbers start over and what was learned is forgotten.
  // Allocates nothing.
  void renew(std::uint64_t seed);
  std::uint32_t size() const { return count_; }
  const PathConfig& config(std::uint8_t path) const;
  PathState state(std::uint8_t path) const;
  // Usable for data: good or suspect. With every path bad the last suspect stays usable:
  // a path dies only while another one is usable.
  bool usable(std::uint8_t path) const { return path < count_ && (usable_ & bit(path)) != 0; }

  // The path for the next data packet of `bytes`: the current train's path until
  // the train is full, then the path with the fewest bytes in flight over its
  // effective weight (ties: in turn, by weight). Good paths only, unless all that are
  // usable are suspect; standby paths only without others. none if no path was added.
  std::optional<std::uint8_t> choose(std::uint32_t bytes) {
    ZHINU_ASSERT(bytes > 0);
    if (bytes > train_left_) return start_train(bytes);
    train_left_ -= bytes;
    return train_path_;
  }
  // Ends the current train, so that the next choose() picks anew.
  void end_train() { train_left_ = 0; }
  // The best path for ACKs and other control: good before suspect, lowest RTT, and
  // none that rotate_ack_path() left, while another is good.
  std::optional<std::uint8_t> best() const {
    return count_ > 0 ? std::optional(best_path_) : std::nullopt;
  }
  // A duplicate from the peer says that our ACKs do not arrive: use another path. The
  // one that is left is taken again after something sent on it was acknowledged.
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
  // largest newly acknowledged packet left, `ack_delay` what the peer says that one waited, if it
  // says so, `marked` the growth of the peer's ECN count, `packets` how many were newly
  // acknowledged).
  void on_ack(Instant now, std::uint8_t path, std::uint32_t acked_bytes, std::uint32_t packets,
              std::optional<Instant> newest_sent_at, std::optional<Duration> ack_delay,
              std::uint32_t marked);
  void on_lost(Instant now, std::uint8_t path, std::uint32_t bytes, std::uint32_t packets);
  // The owner moved the contents of a dead path: nothing of it is in flight any more.
  void on_flushed(std::uint8_t path);
  // A probe of ours was answered; wrong challenges are ignored (false).
  bool on_probe_response(Instant now, std::uint8_t path, std::uint64_t challenge);
  // The peer's address behind the path changed: probe it before further use.
  void on_address_changed(Instant now, std::uint8_t path, const Address& remote);

  // Output: probes to send now (at most one a call) and transitions to report. A path
  // that changed twice since the last poll is reported once, or not at all when it is
  // back where it was; dead is always reported, as it ends only with on_flushed().
  std::optional<PathProbe> poll_probe(Instant now);
  bool probe_due() const { return probe_due_ != 0; }
  bool transition_due() const { return changed_ != 0; }
  std::optional<PathTransition> poll_transition();
  // Not later than the earliest instant at which handle_timeout has something to do.
  // May be earlier: an ACK makes deadlines void, and looking for the next is left to
  // handle_timeout, which then does nothing else. never() while nothing is due, or
  // while all that is due are probes to be polled.
  Instant timeout() const { return timeout_; }
  void handle_timeout(Instant now) {
    if (now >= timeout_) run_timeouts(now);
  }

  // Measurements. Zero RTT = no sample yet.
  Duration smoothed_rtt(std::uint8_t path) const;
  Duration rtt_variation(std::uint8_t path) const;
  Duration min_rtt(std::uint8_t path) const;
  // Smallest smoothed RTT of good paths, else initial_rtt. Like the medians below it is
  // computed at an ACK when it is older than half an RTT.
  Duration best_rtt() const { return best_rtt_; }
  // Loss detection by time: when a later packet of the path was acknowledged, one that
  // left this long ago is lost. The RTT and some room for reordering.
  Duration loss_delay(std::uint8_t path) const;
  // Probe time-out: smoothed + 4 variations + the peer's ACK delay. The caller doubles it
  // per round without an answer, up to `probe_timeout_max`.
  Duration probe_timeout(std::uint8_t path, Duration peer_ack_delay) const;
  std::uint64_t in_flight_bytes(std::uint8_t path) const;
  std::uint16_t weight(std::uint8_t path) const;  // in effect: base × multiplier × ramp, 256 = 1.0
  std::uint32_t share_per_mille(std::uint8_t path) const;  // of the usable paths' and its own
  std::uint64_t packets_sent(std::uint8_t path) const;
  std::uint64_t packets_lost(std::uint8_t path) const;
  // Medians over the paths with an ACK in the last rounds: what the window follows
  // (decision 9). Of an even number the lower one: a path that is worse than its sibling
  // is relieved by choose(), not by the window.
  Duration median_queue_delay() const { return median_queue_delay_; }
  std::uint32_t median_marked_per_mille() const { return median_marked_per_mille_; }
  std::uint32_t median_loss_per_mille() const { return median_loss_per_mille_; }

  static std::size_t bytes_per_path();

 private:
  struct Path;                 // <= 256 bytes, asserted in the source
  using Mask = std::uint64_t;  // one bit for each path

  static Mask bit(std::uint8_t path) { return Mask{1} << path; }
  Path& at(std::uint8_t path);
  const Path& at(std::uint8_t path) const;
  PathHealth::View view(std::uint8_t path) const;
  Duration rtt_or_initial(const Path& path) const;
  Duration ramp_step(const Path& path) const;
  std::uint64_t secret(std::uint8_t path) const;
  std::uint32_t gap_after(std::uint8_t path, std::uint64_t number) const;

  std::uint8_t start(const PathConfig& config);
  std::optional<std::uint8_t> start_train(std::uint32_t bytes);
  Mask candidates() const;
  Mask least_loaded(Mask among) const;
  std::uint8_t next_in_turn(Mask among);
  Mask best_first() const;
  void find_best();
  void refresh(Instant now);

  void settle(Instant now, std::uint8_t path, PathState before);
  void run_timeouts(Instant now);
  void hurry_all(Instant now, bool just_now);
  void tell_witness(Instant now, std::uint8_t path, Instant sent_at);
  void ask_witnesses(std::uint8_t path);
  std::optional<std::uint8_t> pick_witness(std::uint8_t path, Mask taken) const;
  void wake_at(Instant at) { timeout_ = std::min(timeout_, at); }

  PathOptions options_;
  Duration initial_rtt_;
  std::uint32_t train_bytes_;
  std::uint32_t paths_max_;
  std::uint64_t seed_;
  std::vector<Path> paths_;
  std::uint32_t count_ = 0;

  // The state machines' answers, kept by settle().
  Mask good_ = 0;
  Mask usable_ = 0;
  Mask doubted_ = 0;
  Mask probe_due_ = 0;
  Mask changed_ = 0;  // state differs from the one that was reported
  Mask standby_ = 0;  // base weight 0
  Mask ack_avoid_ = 0;
  Instant timeout_ = Instant::never();

  std::uint32_t train_left_ = 0;
  std::uint8_t train_path_ = 0;
  std::uint8_t best_path_ = 0;

  Instant refresh_at_;
  Duration best_rtt_;
  Duration median_queue_delay_;
  std::uint32_t median_marked_per_mille_ = 0;
  std::uint32_t median_loss_per_mille_ = 0;
};

}  // namespace zhinu::core

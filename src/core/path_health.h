// The state machine of one path: good -> suspect -> dead -> held -> probing -> good.
//
//   good     in use. Silent for too long while something is outstanding: suspect.
//   suspect  in use if need be. It and others are probed, again and again with a growing
//            distance. Its own answer: good. Another answers: one more probe, and if that
//            stays unanswered, dead. Nobody answers: a paused peer or a partition, it stays
//            suspect for as long as that takes.
//   dead     waits for its owner to move what was in flight: held.
//   held     rests. The hold-down doubles at each relapse and is forgotten after calm.
//   probing  answers full-size probes, some in a row: good. One lost: held again.
//
// It knows one path. What it must know of the others comes as a View and as witnesses:
// an answer on another path to something that left after this path was doubted. A lost
// probe is held against a path only with a witness, as the peer may just be paused.
// (Design decisions 6 and 7.) Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/options.h"
#include "core/types.h"

namespace zhinu::core {

class PathHealth {
 public:
  // What a decision needs to know beside the path's own history.
  struct View {
    Duration silence;           // this long without an ACK is suspicious
    Duration answer;            // a probe should be answered within this
    bool outstanding = false;   // bytes of the path are unacknowledged
    bool other_usable = false;  // another path is good or suspect
    bool any_good = false;      // some path is good
  };

  PathState state() const { return state_; }
  bool usable() const { return state_ == PathState::kGood || state_ == PathState::kSuspect; }
  // Answers on other paths count as evidence now.
  bool doubted() const { return state_ == PathState::kSuspect || state_ == PathState::kProbing; }

  // Something left while nothing was outstanding: the silence begins here.
  void on_first_outstanding(Instant now) { silent_since_ = now; }
  // The peer acknowledged something new of this path.
  void on_acknowledged(Instant now) {
    silent_since_ = now;
    if (state_ == PathState::kSuspect) become_good(now);
  }
  // Another usable path answered something that left at `sent_at`. A probe may be due now.
  void on_witness(Instant now, Instant sent_at);

  // Whose answer a challenge is.
  enum class Answer : std::uint8_t {
    kForeign,  // nobody's, or a second answer: nothing changed
    kEarlier,  // that of a probe before the latest
    kLatest,   // that of the latest probe, sent at probe_sent_at()
  };
  Answer on_response(Instant now, std::uint64_t challenge, std::uint64_t secret, const View& view,
                     const PathOptions& options);
  Instant probe_sent_at() const { return probe_sent_at_; }

  // The owner moved what was in flight: dead -> held.
  void on_flushed();
  // The peer's address behind the path changed.
  void on_address_changed(Instant now, const View& view);
  // No path is good any more: held and probing paths are probed at once, without waiting.
  // `just_now`: the last good path was lost at this moment; probes are repeated from the
  // shortest distance on.
  void hurry(Instant now, bool just_now, const View& view);

  // When on_timeout has something to do; never() while a probe waits to be taken.
  Instant deadline(const View& view) const;
  void on_timeout(Instant now, const View& view, const PathOptions& options);

  // Probes. A table that finds `wants_witnesses` probes two other paths too.
  void request_probe() { probe_due_ = true; }
  bool probe_due() const { return probe_due_; }
  bool take_wants_witnesses() {
    const bool wants = wants_witnesses_;
    wants_witnesses_ = false;
    return wants;
  }
  // The challenge to send now. `secret` differs from path to path and stays the same.
  std::uint64_t take_probe(Instant now, std::uint64_t secret);

 private:
  void become_good(Instant now);
  void become_suspect(Instant now, const View& view);
  void become_probing(Instant now, const View& view);
  void fall(Instant now, const View& view, const PathOptions& options);
  void begin_round(const View& view);
  void judge(Instant now, const View& view, const PathOptions& options);
  Instant verdict_at(const View& view) const;
  Duration patience(const View& view) const;  // how long a probe may stay unanswered
  bool latest_unanswered() const { return (unanswered_ & 1) != 0; }

  Instant silent_since_;
  Instant probe_sent_at_;
  Instant doubted_since_;                  // what left before is no evidence
  Instant witness_at_ = Instant::never();  // first evidence of the round
  Instant next_at_ = Instant::never();     // next probe, or the end of the hold-down
  Instant fell_at_ = Instant::never();     // last death or lost probe of a return
  Duration interval_;                      // to the next probe if nobody answers
  std::uint32_t probes_ = 0;               // sent so far: the latest has this number
  PathState state_ = PathState::kGood;
  std::uint8_t unanswered_ = 0;  // bit k: the probe k before the latest may still be answered
  std::uint8_t row_ = 0;         // probes answered in a row while probing
  std::uint8_t relapses_ = 0;
  bool probe_due_ = false;
  bool wants_witnesses_ = false;
};

}  // namespace zhinu::core

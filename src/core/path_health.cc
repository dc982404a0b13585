#include "core/path_health.h"

#include <algorithm>

#include "base/check.h"
#include "base/prng.h"

namespace zhinu::core {
namespace {

// A peer that never comes back is asked once a second per path, and never given up.
constexpr Duration kProbeIntervalMax = seconds(1);
// More doublings lead from any sensible hold_first beyond any sensible hold_max.
constexpr std::uint8_t kRelapsesMax = 32;
// A path may come back longer than it was, and its old RTT then condemns every probe: each
// relapse doubles the patience, up to this many times.
constexpr std::uint8_t kPatienceDoublings = 6;
// Probes that may be answered late; their number is in the low bits of the challenge.
constexpr std::uint32_t kProbesRemembered = 8;

std::uint64_t challenge_of(std::uint64_t secret, std::uint32_t probe) {
  return (mix64(secret, probe) & ~std::uint64_t{kProbesRemembered - 1}) |
         (probe % kProbesRemembered);
}

}  // namespace

// What condemns a suspect path is a probe that leaves only now. Those before may have been
// answered in vain: the peer paused, and all its answers come in one burst, or it sent them
// on a path that was dead, until it took the one that brought this answer.
void PathHealth::on_witness(Instant now, Instant sent_at) {
  if (!doubted() || sent_at < doubted_since_ || witness_at_ != Instant::never()) return;
  witness_at_ = now;
  if (state_ == PathState::kSuspect) probe_due_ = true;
}

PathHealth::Answer PathHealth::on_response(Instant now, std::uint64_t challenge,
                                           std::uint64_t secret, const View& view,
                                           const PathOptions& options) {
  const auto low = static_cast<std::uint32_t>(challenge % kProbesRemembered);
  const std::uint32_t back = (probes_ - low) % kProbesRemembered;
  if (((unanswered_ >> back) & 1) == 0) return Answer::kForeign;
  if (challenge != challenge_of(secret, probes_ - back)) return Answer::kForeign;
  unanswered_ = static_cast<std::uint8_t>(unanswered_ & ~(1U << back));

  silent_since_ = now;
  if (state_ == PathState::kSuspect) {
    become_good(now);
  } else if (state_ == PathState::kProbing && back == 0) {
    interval_ = patience(view);
    if (++row_ >= options.probes_to_return) {
      become_good(now);
    } else {
      // Spread out, the row samples a flickering link longer; with nothing good left the
      // way back matters more.
      next_at_ = view.any_good ? probe_sent_at_ + options.probe_timeout_floor : now;
      if (next_at_ <= now) begin_round(view);
    }
  }
  return back == 0 ? Answer::kLatest : Answer::kEarlier;
}

void PathHealth::on_flushed() {
  ZHINU_ASSERT(state_ == PathState::kDead);
  state_ = PathState::kHeld;
}

void PathHealth::on_address_changed(Instant now, const View& view) {
  switch (state_) {
    case PathState::kDead:
      next_at_ = now;  // what is in flight must be moved first
      return;
    case PathState::kGood:
    case PathState::kSuspect:
      if (!view.other_usable) return become_suspect(now, view);
      return become_probing(now, view);
    case PathState::kHeld:
    case PathState::kProbing: return become_probing(now, view);
  }
}

void PathHealth::hurry(Instant now, bool just_now, const View& view) {
  if (state_ == PathState::kHeld) become_probing(now, view);
  if (!doubted() || probe_due_ || !just_now || interval_ <= patience(view)) return;
  interval_ = patience(view);
  begin_round(view);
}

Instant PathHealth::deadline(const View& view) const {
  switch (state_) {
    case PathState::kGood:
      return view.outstanding ? silent_since_ + view.silence : Instant::never();
    case PathState::kSuspect:
    case PathState::kProbing:
      if (probe_due_) return Instant::never();
      if (latest_unanswered() && witness_at_ != Instant::never()) return verdict_at(view);
      return next_at_;
    case PathState::kHeld: return next_at_;
    case PathState::kDead: return Instant::never();
  }
  return Instant::never();
}

void PathHealth::on_timeout(Instant now, const View& view, const PathOptions& options) {
  switch (state_) {
    case PathState::kGood:
      if (view.outstanding && now >= silent_since_ + view.silence) become_suspect(now, view);
      return;
    case PathState::kSuspect:
    case PathState::kProbing: return judge(now, view, options);
    case PathState::kHeld:
      if (now >= next_at_) become_probing(now, view);
      return;
    case PathState::kDead: return;
  }
}

std::uint64_t PathHealth::take_probe(Instant now, std::uint64_t secret) {
  ZHINU_ASSERT(probe_due_);
  probe_due_ = false;
  ++probes_;
  unanswered_ = static_cast<std::uint8_t>(unanswered_ << 1 | 1);
  probe_sent_at_ = now;
  if (doubted()) next_at_ = now + interval_;
  if (state_ == PathState::kProbing) {  // each probe of a return is judged by itself
    doubted_since_ = now;
    witness_at_ = Instant::never();
  }
  return challenge_of(secret, probes_);
}

void PathHealth::become_good(Instant now) {
  state_ = PathState::kGood;
  silent_since_ = now;
}

void PathHealth::become_suspect(Instant now, const View& view) {
  state_ = PathState::kSuspect;
  doubted_since_ = now;
  witness_at_ = Instant::never();
  interval_ = view.answer;
  begin_round(view);
}

void PathHealth::become_probing(Instant now, const View& view) {
  state_ = PathState::kProbing;
  doubted_since_ = now;
  witness_at_ = Instant::never();
  unanswered_ = 0;
  row_ = 0;
  interval_ = patience(view);
  begin_round(view);
}

// Dead, or, for a path that was on its way back with nothing in flight, held at once.
void PathHealth::fall(Instant now, const View& view, const PathOptions& options) {
  const bool was_calm = fell_at_ != Instant::never() && now - fell_at_ > options.calm;
  if (was_calm) relapses_ = 0;
  Duration hold = options.hold_first;
  for (std::uint8_t i = 0; i < relapses_ && hold < options.hold_max; ++i) hold = hold * 2;
  next_at_ = now + std::min(hold, options.hold_max);
  if (relapses_ < kRelapsesMax) ++relapses_;
  fell_at_ = now;
  const bool must_flush = state_ == PathState::kSuspect || view.outstanding;
  state_ = must_flush ? PathState::kDead : PathState::kHeld;
  unanswered_ = 0;
}

// The probe leaves at the next poll. A return asks for witnesses only once a probe stayed
// unanswered: as a rule traffic on the other paths is witness enough.
void PathHealth::begin_round(const View& view) {
  probe_due_ = true;
  wants_witnesses_ = state_ == PathState::kSuspect || interval_ > patience(view);
  next_at_ = Instant::never();
}

void PathHealth::judge(Instant now, const View& view, const PathOptions& options) {
  if (probe_due_) return;
  if (!latest_unanswered()) {  // a return, between two probes
    if (now >= next_at_) begin_round(view);
    return;
  }
  if (witness_at_ != Instant::never()) {
    if (now < verdict_at(view)) return;
    if (view.other_usable) return fall(now, view, options);
    witness_at_ = Instant::never();  // the witness is gone itself: this path is the last
  }
  if (now < next_at_) return;
  row_ = 0;
  interval_ = std::min(interval_ * 2, kProbeIntervalMax);
  begin_round(view);
}

// On a return not at once when the witness speaks, for the same reasons; but there a
// mistake costs little, so that no other probe is sent.
Instant PathHealth::verdict_at(const View& view) const {
  const Instant unanswered = probe_sent_at_ + patience(view);
  if (state_ == PathState::kSuspect) return unanswered;
  return std::max(unanswered, witness_at_ + view.answer / 2);
}

Duration PathHealth::patience(const View& view) const {
  if (state_ != PathState::kProbing || relapses_ < 2) return view.answer;
  return view.answer * (1 << std::min<std::uint8_t>(relapses_ - 1, kPatienceDoublings));
}

}  // namespace zhinu::core

// What the state machines of the paths need of each other: witnesses, probes on other
// paths, haste when none is good; and what follows from a change of state.
#include <bit>

#include "base/prng.h"
#include "core/path_entry.h"
#include "core/path_table.h"

namespace zhinu::core {
namespace {

constexpr std::uint32_t kWitnesses = 2;  // other paths that are probed with a suspect one

}  // namespace

// Called after every call of a state machine that may have changed something.
void PathTable::settle(Instant now, std::uint8_t path, PathState before) {
  Path& entry = at(path);
  const auto assign = [mine = bit(path)](Mask& mask, bool value) {
    mask = value ? mask | mine : mask & ~mine;
  };
  const PathState state = entry.health.state();
  assign(good_, state == PathState::kGood);
  assign(usable_, entry.health.usable());
  assign(doubted_, entry.health.doubted());
  assign(probe_due_, entry.health.probe_due());
  assign(changed_, state != entry.reported);
  ZHINU_ASSERT(usable_ != 0);

  if (state != before) {
    if (train_path_ == path && state != PathState::kGood) end_train();
    if (before == PathState::kProbing && state == PathState::kGood) {
      entry.weight.begin_ramp(now, ramp_step(entry));
    }
    find_best();
  }
  if (entry.health.take_wants_witnesses()) ask_witnesses(path);
  wake_at(entry.health.deadline(view(path)));
}

void PathTable::run_timeouts(Instant now) {
  const bool had_good = good_ != 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    const PathState before = state(path);
    at(path).health.on_timeout(now, view(path), options_);
    settle(now, path, before);
  }
  if (good_ == 0) hurry_all(now, had_good);

  timeout_ = Instant::never();
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    wake_at(at(path).health.deadline(view(path)));
  }
}

void PathTable::hurry_all(Instant now, bool just_now) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    const PathState before = state(path);
    at(path).health.hurry(now, just_now, view(path));
    settle(now, path, before);
  }
}

void PathTable::on_flushed(std::uint8_t path) {
  Path& entry = at(path);
  entry.in_flight_bytes = 0;
  entry.health.on_flushed();
  settle(Instant{}, path, PathState::kDead);
  if (good_ == 0) wake_at(Instant{});  // nothing good is left: probe it now, not after its rest
}

bool PathTable::on_probe_response(Instant now, std::uint8_t path, std::uint64_t challenge) {
  if (path >= count_) return false;
  Path& entry = at(path);
  const PathState before = entry.health.state();
  const auto answer = entry.health.on_response(now, challenge, secret(path), view(path), options_);
  if (answer == PathHealth::Answer::kForeign) return false;
  ack_avoid_ &= ~bit(path);
  const Instant sent_at = entry.health.probe_sent_at();
  if (answer == PathHealth::Answer::kLatest) entry.rtt.add(now, now - sent_at, Duration{});
  settle(now, path, before);
  if (answer == PathHealth::Answer::kLatest) tell_witness(now, path, sent_at);
  return true;
}

void PathTable::on_address_changed(Instant now, std::uint8_t path, const Address& remote) {
  const bool had_good = good_ != 0;
  Path& entry = at(path);
  const PathState before = entry.health.state();
  entry.config.remote = remote;
  entry.rtt = RttEstimator();  // it may lead elsewhere
  entry.health.on_address_changed(now, view(path));
  settle(now, path, before);
  if (good_ == 0) hurry_all(now, had_good);
}

// A path that answers something sent after another was doubted proves that the peer is awake.
void PathTable::tell_witness(Instant now, std::uint8_t path, Instant sent_at) {
  if ((usable_ & bit(path)) == 0) return;
  for_each_bit(doubted_ & ~bit(path), [&](std::uint8_t doubted) {
    at(doubted).health.on_witness(now, sent_at);
    settle(now, doubted, state(doubted));
  });
}

// Suspect paths need no request: they are being probed anyway.
void PathTable::ask_witnesses(std::uint8_t path) {
  Mask taken = bit(path);
  for (std::uint32_t i = 0; i < kWitnesses; ++i) {
    const auto witness = pick_witness(path, taken);
    if (!witness) return;
    taken |= bit(*witness);
    at(*witness).health.request_probe();
    probe_due_ |= bit(*witness);
  }
}

// A good path of a group that is not yet in `taken`, else any good one.
std::optional<std::uint8_t> PathTable::pick_witness(std::uint8_t path, Mask taken) const {
  Mask same_group = 0;
  Mask among = good_ & ~taken;
  for_each_bit(among, [&](std::uint8_t each) {
    for_each_bit(taken, [&](std::uint8_t other) {
      if (at(each).config.group == at(other).config.group) same_group |= bit(each);
    });
  });
  if ((among & ~same_group) != 0) among &= ~same_group;
  if (among == 0) return std::nullopt;
  // From the path on, so that not the same two are asked for every suspect.
  const auto ahead = static_cast<std::uint32_t>(std::countr_zero(std::rotr(among, path)));
  return static_cast<std::uint8_t>((path + ahead) % kPathsMax);
}

std::optional<PathProbe> PathTable::poll_probe(Instant now) {
  if (probe_due_ == 0) return std::nullopt;
  const auto path = static_cast<std::uint8_t>(std::countr_zero(probe_due_));
  Path& entry = at(path);
  PathProbe probe{.path = path, .challenge = entry.health.take_probe(now, secret(path))};
  // A path in doubt has to carry what it will carry: small packets may pass where full
  // ones do not.
  if (entry.health.doubted()) probe.pad_to_bytes = entry.config.packet_bytes_max;
  probe_due_ &= ~bit(path);
  wake_at(entry.health.deadline(view(path)));
  return probe;
}

std::optional<PathTransition> PathTable::poll_transition() {
  if (changed_ == 0) return std::nullopt;
  const auto path = static_cast<std::uint8_t>(std::countr_zero(changed_));
  Path& entry = at(path);
  const PathTransition transition{.path = path, .from = entry.reported, .to = entry.health.state()};
  entry.reported = transition.to;
  changed_ &= ~bit(path);
  return transition;
}

}  // namespace zhinu::core

// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/path_health.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {
namespace {

using Answer = PathHealth::Answer;
constexpr std::uint64_t kSecret = 0x1234'5678'9abc'def0ULL;

// One path, the time, and what its table would tell it.
struct Path {
  PathHealth health;
  PathOptions options;
  PathHealth::View view{.silence = milliseconds(1),
                        .answer = milliseconds(1),
                        .outstanding = true,
                        .other_usable = true,
                        .any_good = true};
  Instant now = Instant{} + seconds(1);

  Path() { health.on_first_outstanding(now); }

  PathState state() const { return health.state(); }
  void wait(Duration duration) {
    now = now + duration;
    health.on_timeout(now, view, options);
  }
  // Sends what is due and returns its challenge.
  std::optional<std::uint64_t> probe() {
    if (!health.probe_due()) return std::nullopt;
    return health.take_probe(now, kSecret);
  }
  Answer answer(std::uint64_t challenge) {
    return health.on_response(now, challenge, kSecret, view, options);
  }
  // Another path answers; what that makes due is sent.
  void witness() {
    health.on_witness(now, now);
    probe();
  }

  std::uint64_t suspect() {
    wait(milliseconds(1));
    EXPECT_EQ(state(), PathState::kSuspect);
    return probe().value();
  }
  void die() {
    suspect();
    witness();
    wait(milliseconds(1));
    EXPECT_EQ(state(), PathState::kDead);
  }
  // Dead, flushed, and rested.
  void probing() {
    die();
    health.on_flushed();
    view.outstanding = false;
    wait(health.deadline(view) - now);
    EXPECT_EQ(state(), PathState::kProbing);
  }
  // Answers probes until `count` were answered.
  void answer_probes(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!health.probe_due()) wait(health.deadline(view) - now);
      EXPECT_EQ(answer(probe().value()), Answer::kLatest);
    }
  }
};

// Silence and suspicion.

TEST(PathHealth, good__at_first) {
  const PathHealth health;
  EXPECT_EQ(health.state(), PathState::kGood);
  EXPECT_TRUE(health.usable());
  EXPECT_FALSE(health.doubted());
  EXPECT_FALSE(health.probe_due());
}

TEST(PathHealth, good__nothing_outstanding_is_never_silent) {
  Path path;
  path.view.outstanding = false;
  EXPECT_EQ(path.health.deadline(path.view), Instant::never());
  path.wait(seconds(100));
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, good__silence_counts_from_the_first_outstanding_send) {
  Path path;
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
  path.wait(milliseconds(1) - nanoseconds(1));
  EXPECT_EQ(path.state(), PathState::kGood);
  path.wait(nanoseconds(1));
  EXPECT_EQ(path.state(), PathState::kSuspect);
}

TEST(PathHealth, good__silence_counts_from_the_last_ack) {
  Path path;
  path.wait(microseconds(700));
  path.health.on_acknowledged(path.now);
  path.wait(microseconds(999));
  EXPECT_EQ(path.state(), PathState::kGood);
  path.wait(microseconds(1));
  EXPECT_EQ(path.state(), PathState::kSuspect);
}

TEST(PathHealth, good__answered_probe_of_another_suspicion_breaks_the_silence) {
  Path path;
  path.wait(microseconds(700));
  path.health.request_probe();
  EXPECT_EQ(path.answer(path.probe().value()), Answer::kLatest);
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
}

TEST(PathHealth, suspect__probes_itself_and_asks_for_witnesses) {
  Path path;
  path.wait(milliseconds(1));
  EXPECT_TRUE(path.health.usable());
  EXPECT_TRUE(path.health.doubted());
  EXPECT_TRUE(path.health.probe_due());
  EXPECT_TRUE(path.health.take_wants_witnesses());
  EXPECT_FALSE(path.health.take_wants_witnesses()) << "once";
  EXPECT_EQ(path.health.deadline(path.view), Instant::never()) << "it waits to be polled";
  path.probe();
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
}

TEST(PathHealth, suspect__own_ack_makes_it_good) {
  Path path;
  path.suspect();
  path.health.on_acknowledged(path.now);
  EXPECT_EQ(path.state(), PathState::kGood);
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
}

TEST(PathHealth, suspect__own_answer_makes_it_good) {
  Path path;
  const std::uint64_t challenge = path.suspect();
  path.wait(microseconds(10));
  EXPECT_EQ(path.answer(challenge), Answer::kLatest);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, suspect__answer_to_an_earlier_probe_makes_it_good) {
  Path path;
  const std::uint64_t first = path.suspect();
  path.wait(milliseconds(1));
  ASSERT_TRUE(path.probe().has_value());
  EXPECT_EQ(path.answer(first), Answer::kEarlier);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, suspect__answers_that_are_nobodys_change_nothing) {
  Path path;
  const std::uint64_t challenge = path.suspect();
  for (std::uint64_t bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(path.answer(challenge ^ (1ULL << bit)), Answer::kForeign) << bit;
  }
  EXPECT_EQ(path.answer(0), Answer::kForeign);
  EXPECT_EQ(path.state(), PathState::kSuspect);
}

TEST(PathHealth, on_response__second_answer_is_foreign) {
  Path path;
  const std::uint64_t challenge = path.suspect();
  EXPECT_EQ(path.answer(challenge), Answer::kLatest);
  EXPECT_EQ(path.answer(challenge), Answer::kForeign);
}

TEST(PathHealth, on_response__before_any_probe) {
  Path path;
  for (std::uint64_t challenge = 0; challenge < 16; ++challenge) {
    EXPECT_EQ(path.answer(challenge), Answer::kForeign);
  }
}

TEST(PathHealth, on_response__only_the_last_eight_probes_are_remembered) {
  Path path;
  path.view.outstanding = false;
  std::vector<std::uint64_t> challenges;
  for (int i = 0; i < 9; ++i) {
    path.health.request_probe();
    challenges.push_back(path.probe().value());
  }
  EXPECT_EQ(path.answer(challenges[0]), Answer::kForeign);
  EXPECT_EQ(path.answer(challenges[1]), Answer::kEarlier);
  EXPECT_EQ(path.answer(challenges[8]), Answer::kLatest);
}

TEST(PathHealth, take_probe__challenges_of_paths_and_probes_differ) {
  PathHealth one;
  PathHealth other;
  one.request_probe();
  other.request_probe();
  const std::uint64_t first = one.take_probe(Instant{}, 1);
  EXPECT_NE(first, other.take_probe(Instant{}, 2));
  one.request_probe();
  EXPECT_NE(first, one.take_probe(Instant{}, 1));
}

// Death.

TEST(PathHealth, suspect__without_witness_it_is_asked_for_ever) {
  Path path;
  path.wait(milliseconds(1));
  std::vector<std::int64_t> intervals_ms;
  Instant last = path.now;
  path.probe();
  for (int i = 0; i < 40; ++i) {
    const Instant next = path.health.deadline(path.view);
    ASSERT_LT(path.now, next);
    path.wait(next - path.now);
    ASSERT_EQ(path.state(), PathState::kSuspect);
    ASSERT_TRUE(path.health.take_wants_witnesses());
    ASSERT_TRUE(path.probe().has_value());
    intervals_ms.push_back((path.now - last).ns / 1'000'000);
    last = path.now;
  }
  const std::vector<std::int64_t> start(intervals_ms.begin(), intervals_ms.begin() + 12);
  EXPECT_EQ(start,
            (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1'000, 1'000}));
  EXPECT_EQ(intervals_ms.back(), 1'000);
}

TEST(PathHealth, suspect__witness_and_no_answer_is_death) {
  Path path;
  path.suspect();
  path.wait(microseconds(50));
  path.witness();
  path.wait(microseconds(999));
  EXPECT_EQ(path.state(), PathState::kSuspect);
  path.wait(microseconds(1));
  EXPECT_EQ(path.state(), PathState::kDead);
  EXPECT_FALSE(path.health.usable());
  EXPECT_FALSE(path.health.doubted());
  EXPECT_EQ(path.health.deadline(path.view), Instant::never()) << "until it is flushed";
}

TEST(PathHealth, suspect__deadline_with_a_witness_is_the_verdict) {
  Path path;
  path.suspect();
  path.wait(microseconds(50));
  path.witness();
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
}

TEST(PathHealth, suspect__witness_asks_for_one_more_probe) {
  Path path;
  path.suspect();
  path.wait(microseconds(50));
  ASSERT_FALSE(path.health.probe_due());
  path.health.on_witness(path.now, path.now);
  EXPECT_TRUE(path.health.probe_due());
  EXPECT_EQ(path.health.deadline(path.view), Instant::never());
  path.wait(milliseconds(5));
  EXPECT_EQ(path.state(), PathState::kSuspect) << "no verdict before it left";
  path.probe();
  path.health.on_witness(path.now, path.now);
  EXPECT_FALSE(path.health.probe_due()) << "one";
}

TEST(PathHealth, suspect__answer_time_follows_the_rtt) {
  Path path;
  path.view.answer = milliseconds(40);
  path.suspect();
  path.witness();
  path.wait(milliseconds(39));
  EXPECT_EQ(path.state(), PathState::kSuspect);
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kDead);
}

// The peer paused: all answers come in one burst, the other path's first.
TEST(PathHealth, suspect__late_witness_leaves_time_for_the_own_answer) {
  Path path;
  path.suspect();
  std::uint64_t challenge = 0;
  for (int i = 0; i < 8; ++i) {
    path.wait(path.health.deadline(path.view) - path.now);
    challenge = path.probe().value();
  }
  path.wait(milliseconds(100));
  path.witness();
  path.wait(microseconds(999));
  EXPECT_EQ(path.state(), PathState::kSuspect);
  EXPECT_EQ(path.answer(challenge), Answer::kEarlier);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, suspect__late_witness_and_still_no_answer) {
  Path path;
  path.suspect();
  path.wait(milliseconds(1));
  path.probe();
  path.wait(microseconds(1'900));
  path.witness();
  path.wait(microseconds(999));
  EXPECT_EQ(path.state(), PathState::kSuspect) << "the time of an answer after the witness";
  path.wait(microseconds(1));
  EXPECT_EQ(path.state(), PathState::kDead);
}

TEST(PathHealth, suspect__later_witnesses_do_not_put_off_the_verdict) {
  Path path;
  path.suspect();
  for (int i = 0; i < 10; ++i) {
    path.witness();
    path.wait(microseconds(100));
  }
  EXPECT_EQ(path.state(), PathState::kDead);
}

TEST(PathHealth, suspect__what_left_before_the_suspicion_is_no_witness) {
  Path path;
  path.suspect();
  path.health.on_witness(path.now + microseconds(10), path.now - nanoseconds(1));
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kSuspect);
}

TEST(PathHealth, suspect__last_usable_path_does_not_die) {
  Path path;
  path.view.other_usable = false;
  path.suspect();
  path.witness();
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kSuspect);
  EXPECT_TRUE(path.health.probe_due()) << "it is asked again";
  path.probe();
  EXPECT_GT(path.health.deadline(path.view), path.now) << "no busy loop";
  path.view.other_usable = true;
  path.wait(milliseconds(2));
  EXPECT_EQ(path.state(), PathState::kSuspect) << "the old witness does not count";
}

TEST(PathHealth, on_witness__good_path_needs_none) {
  Path path;
  path.witness();
  path.suspect();
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kSuspect);
}

TEST(PathHealth, dead__late_acks_and_answers_change_nothing) {
  Path path;
  const std::uint64_t challenge = path.suspect();
  path.witness();
  path.wait(milliseconds(1));
  ASSERT_EQ(path.state(), PathState::kDead);
  EXPECT_EQ(path.answer(challenge), Answer::kForeign);
  path.health.on_acknowledged(path.now);
  path.wait(seconds(100));
  EXPECT_EQ(path.state(), PathState::kDead);
  path.health.on_flushed();
  EXPECT_EQ(path.state(), PathState::kHeld);
  EXPECT_EQ(path.answer(challenge), Answer::kForeign);
  path.health.on_acknowledged(path.now);
  EXPECT_EQ(path.state(), PathState::kHeld);
}

TEST(PathHealthDeathTest, on_flushed__path_that_is_not_dead) {
  PathHealth health;
  EXPECT_DEATH(health.on_flushed(), "kDead");
}

// Hold-down.

TEST(PathHealth, held__for_hold_first_since_the_death) {
  Path path;
  path.die();
  const Instant died = path.now;
  path.wait(milliseconds(300));
  path.health.on_flushed();
  EXPECT_EQ(path.health.deadline(path.view), died + seconds(1));
  path.wait(milliseconds(699));
  EXPECT_EQ(path.state(), PathState::kHeld);
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kProbing);
  EXPECT_TRUE(path.health.probe_due());
}

TEST(PathHealth, held__doubles_at_each_relapse_up_to_hold_max) {
  Path path;
  std::vector<std::int64_t> holds_s;
  path.die();
  for (int i = 0; i < 40; ++i) {
    path.health.on_flushed();
    holds_s.push_back((path.health.deadline(path.view) - path.now).ns / 1'000'000'000);
    path.wait(path.health.deadline(path.view) - path.now);
    path.probe();
    path.witness();
    path.wait(path.health.deadline(path.view) - path.now);
    ASSERT_EQ(path.state(), PathState::kDead) << "something is outstanding";
  }
  const std::vector<std::int64_t> start(holds_s.begin(), holds_s.begin() + 8);
  EXPECT_EQ(start, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 60, 60}));
  EXPECT_EQ(holds_s.back(), 60);
}

TEST(PathHealth, held__relapses_are_forgotten_after_calm) {
  for (const bool calm : {false, true}) {
    Path path;
    path.probing();
    path.answer_probes(8);
    ASSERT_EQ(path.state(), PathState::kGood);
    const Instant died = path.now - seconds(1) - milliseconds(7);  // about
    const Duration since = calm ? seconds(601) : seconds(599);
    path.now = died + since;
    path.view.outstanding = true;
    path.health.on_first_outstanding(path.now);
    path.die();
    path.health.on_flushed();
    EXPECT_EQ(path.health.deadline(path.view) - path.now, calm ? seconds(1) : seconds(2));
  }
}

TEST(PathHealth, held__hold_first_above_hold_max) {
  Path path;
  path.options.hold_first = seconds(90);
  path.die();
  path.health.on_flushed();
  EXPECT_EQ(path.health.deadline(path.view), path.now + seconds(60));
}

// Return.

TEST(PathHealth, probing__probes_answered_in_a_row_make_it_good) {
  Path path;
  path.probing();
  path.answer_probes(7);
  EXPECT_EQ(path.state(), PathState::kProbing);
  path.answer_probes(1);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, probing__probes_are_spread_out) {
  Path path;
  path.probing();
  const Instant sent = path.now;
  const std::uint64_t challenge = path.probe().value();
  path.wait(microseconds(20));
  path.answer(challenge);
  EXPECT_FALSE(path.health.probe_due());
  EXPECT_EQ(path.health.deadline(path.view), sent + milliseconds(1));
  path.wait(microseconds(980));
  EXPECT_TRUE(path.health.probe_due());
}

TEST(PathHealth, probing__at_once_after_an_answer_when_nothing_is_good) {
  Path path;
  path.probing();
  path.view.any_good = false;
  path.wait(Duration{});
  path.answer(path.probe().value());
  EXPECT_TRUE(path.health.probe_due());
}

TEST(PathHealth, probing__one_lost_probe_leads_back_with_a_doubled_hold) {
  Path path;
  path.probing();
  path.answer_probes(7);
  path.wait(path.health.deadline(path.view) - path.now);
  path.probe();
  path.witness();
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kHeld) << "nothing is in flight: no need to flush";
  EXPECT_EQ(path.health.deadline(path.view), path.now + seconds(2));
  path.wait(seconds(2));
  EXPECT_EQ(path.state(), PathState::kProbing);
  path.answer_probes(7);
  EXPECT_EQ(path.state(), PathState::kProbing) << "the row begins anew";
  path.answer_probes(1);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, probing__with_something_in_flight_it_dies_first) {
  Path path;
  path.probing();
  path.view.outstanding = true;
  path.probe();
  path.witness();
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kDead);
}

TEST(PathHealth, probing__lost_probe_without_witness_is_repeated) {
  Path path;
  path.probing();
  path.health.take_wants_witnesses();
  path.answer_probes(3);
  path.wait(path.health.deadline(path.view) - path.now);
  path.probe();
  EXPECT_FALSE(path.health.take_wants_witnesses());
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kProbing);
  EXPECT_TRUE(path.health.take_wants_witnesses()) << "now it asks whether the peer is awake";
  path.answer_probes(7);
  EXPECT_EQ(path.state(), PathState::kProbing) << "the row began anew";
  path.answer_probes(1);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, probing__witness_of_an_earlier_probe_does_not_count) {
  Path path;
  path.probing();
  const std::uint64_t challenge = path.probe().value();
  path.witness();
  path.answer(challenge);
  path.wait(path.health.deadline(path.view) - path.now);
  path.probe();
  path.wait(milliseconds(1));
  EXPECT_EQ(path.state(), PathState::kProbing);
}

TEST(PathHealth, probing__answer_to_a_repeated_probe_counts_once) {
  Path path;
  path.probing();
  const std::uint64_t first = path.probe().value();
  path.wait(milliseconds(1));
  const std::uint64_t second = path.probe().value();
  EXPECT_EQ(path.answer(first), Answer::kEarlier);
  EXPECT_EQ(path.answer(second), Answer::kLatest);
  path.answer_probes(6);
  EXPECT_EQ(path.state(), PathState::kProbing);
  path.answer_probes(1);
  EXPECT_EQ(path.state(), PathState::kGood);
}

// A path that came back longer than four times what it was would never return otherwise.
TEST(PathHealth, probing__patience_grows_with_each_relapse) {
  Path path;
  path.probing();
  const Duration rtt = milliseconds(5);
  for (int relapse = 0; relapse < 10; ++relapse) {
    const std::uint64_t challenge = path.probe().value();
    path.witness();
    const Instant answered_at = path.now + rtt;
    while (path.state() == PathState::kProbing && path.now < answered_at) {
      path.wait(std::min(path.health.deadline(path.view), answered_at) - path.now);
      path.probe();
    }
    if (path.state() == PathState::kProbing) {
      EXPECT_EQ(path.answer(challenge), Answer::kLatest);
      EXPECT_EQ(relapse, 3) << "1, 2 and 4 ms were too short";
      return;
    }
    path.wait(path.health.deadline(path.view) - path.now);
  }
  FAIL() << "it never came back";
}

TEST(PathHealth, probing__patience_has_a_limit) {
  Path path;
  path.probing();
  for (int relapse = 0; relapse < 20; ++relapse) {
    path.probe();
    path.witness();
    path.wait(path.health.deadline(path.view) - path.now);
    ASSERT_EQ(path.state(), PathState::kHeld);
    path.wait(path.health.deadline(path.view) - path.now);
  }
  path.probe();
  path.witness();
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(64));
}

// Haste.

TEST(PathHealth, hurry__held_path_is_probed_at_once) {
  Path path;
  path.die();
  path.health.on_flushed();
  path.view.any_good = false;
  path.health.hurry(path.now, false, path.view);
  EXPECT_EQ(path.state(), PathState::kProbing);
  EXPECT_TRUE(path.health.probe_due());
}

TEST(PathHealth, hurry__probing_path_in_its_back_off_is_probed_at_once) {
  Path path;
  path.probing();
  for (int i = 0; i < 6; ++i) {
    path.probe();
    path.wait(path.health.deadline(path.view) - path.now);
  }
  path.probe();
  path.health.hurry(path.now, false, path.view);
  EXPECT_FALSE(path.health.probe_due()) << "not a second time for the same loss";
  path.health.hurry(path.now, true, path.view);
  EXPECT_TRUE(path.health.probe_due());
  path.probe();
  EXPECT_EQ(path.health.deadline(path.view), path.now + milliseconds(1));
}

TEST(PathHealth, hurry__good_and_dead_paths_are_left_alone) {
  Path good;
  good.health.hurry(good.now, true, good.view);
  EXPECT_EQ(good.state(), PathState::kGood);
  EXPECT_FALSE(good.health.probe_due());
  Path dead;
  dead.suspect();
  for (int i = 0; i < 3; ++i) {
    dead.wait(dead.health.deadline(dead.view) - dead.now);
    dead.probe();
  }
  dead.witness();
  dead.wait(milliseconds(1));
  ASSERT_EQ(dead.state(), PathState::kDead);
  dead.health.hurry(dead.now, true, dead.view);
  EXPECT_EQ(dead.state(), PathState::kDead);
  EXPECT_FALSE(dead.health.probe_due());
}

// A changed address.

TEST(PathHealth, on_address_changed__good_path_beside_others_is_probed_without_a_hold) {
  Path path;
  path.health.on_address_changed(path.now, path.view);
  EXPECT_EQ(path.state(), PathState::kProbing);
  EXPECT_TRUE(path.health.probe_due());
  path.answer_probes(8);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, on_address_changed__only_path_stays_usable) {
  Path path;
  path.view.other_usable = false;
  path.health.on_address_changed(path.now, path.view);
  EXPECT_EQ(path.state(), PathState::kSuspect);
  EXPECT_TRUE(path.health.usable());
  EXPECT_EQ(path.answer(path.probe().value()), Answer::kLatest);
  EXPECT_EQ(path.state(), PathState::kGood);
}

TEST(PathHealth, on_address_changed__suspect_and_held_paths) {
  Path suspect;
  suspect.suspect();
  suspect.health.on_address_changed(suspect.now, suspect.view);
  EXPECT_EQ(suspect.state(), PathState::kProbing);
  Path held;
  held.die();
  held.health.on_flushed();
  held.health.on_address_changed(held.now, held.view);
  EXPECT_EQ(held.state(), PathState::kProbing);
}

TEST(PathHealth, on_address_changed__answers_from_the_old_address_do_not_count) {
  Path path;
  const std::uint64_t old = path.suspect();
  path.health.on_address_changed(path.now, path.view);
  EXPECT_EQ(path.answer(old), Answer::kForeign);
}

TEST(PathHealth, on_address_changed__dead_path_is_probed_once_it_is_flushed) {
  Path path;
  path.die();
  path.health.on_address_changed(path.now, path.view);
  EXPECT_EQ(path.state(), PathState::kDead);
  path.health.on_flushed();
  path.wait(Duration{});
  EXPECT_EQ(path.state(), PathState::kProbing);
}

// Whatever happens: no deadline lies in the past after on_timeout, no usable path is given
// up without another, and a path whose probes are answered comes back.
void live_a_random_life(std::uint64_t seed) {
  Prng prng(seed);
  Path path;
  for (int step = 0; step < 2'000; ++step) {
    path.view.other_usable = prng.below(4) != 0;
    path.view.any_good = path.view.other_usable && prng.below(2) == 0;
    path.view.outstanding = prng.below(2) == 0;
    const bool was_usable = path.health.usable();
    const bool reach = prng.below(3) == 0;
    path.wait(Duration{static_cast<std::int64_t>(prng.below(reach ? 3'000'000'000 : 800'000))});
    if (was_usable && !path.health.usable()) RC_ASSERT(path.view.other_usable);
    RC_ASSERT(path.health.deadline(path.view) > path.now);
    switch (prng.below(8)) {
      case 0: path.witness(); break;
      case 1: path.health.on_acknowledged(path.now); break;
      case 2: path.health.request_probe(); break;
      case 3:
        if (path.view.other_usable || path.health.usable()) {
          path.health.on_address_changed(path.now, path.view);
        }
        break;
      case 4:
        if (!path.view.any_good) path.health.hurry(path.now, prng.below(2) == 0, path.view);
        break;
      default: break;
    }
    if (path.state() == PathState::kDead) path.health.on_flushed();
    const auto challenge = path.probe();
    if (challenge && prng.below(2) == 0) path.answer(*challenge);
  }
  path.view = {milliseconds(1), milliseconds(1), false, true, true};
  for (int step = 0; step < 100 && path.state() != PathState::kGood; ++step) {
    if (path.state() == PathState::kDead) path.health.on_flushed();
    const auto challenge = path.probe();
    if (challenge) path.answer(*challenge);
    const Instant next = path.health.deadline(path.view);
    if (next != Instant::never()) path.wait(std::max(next - path.now, Duration{}));
  }
  RC_ASSERT(path.state() == PathState::kGood);
}

TEST(PathHealth, random_lives_end_well) {
  EXPECT_TRUE(rc::check("no deadlock, no busy loop", live_a_random_life));
}

}  // namespace
}  // namespace zhinu::core

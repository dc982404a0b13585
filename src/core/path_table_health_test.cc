// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "core/path_table.h"

namespace zhinu::core {
namespace {

constexpr std::uint32_t kPacket = 1'000;
constexpr Duration kRtt = microseconds(20);

// The far end and the paths to it. Every packet and probe is answered after one RTT, unless
// the path is cut or the peer sleeps; what a sleeping peer got it answers when it wakes up.
class Net {
 public:
  explicit Net(std::vector<std::uint8_t> groups, std::uint64_t seed = 1)
      : table_({}, kRtt, 64 * 1024, PathTable::kPathsMax, seed),
        cut_(groups.size()),
        lost_(groups.size()) {
    for (const std::uint8_t group : groups) {
      PathConfig config;
      config.group = group;
      config.packet_bytes_max = 9'000;
      static_cast<void>(table_.add(config));
    }
  }

  PathTable& table() { return table_; }
  Instant now() const { return now_; }
  PathState state(std::uint8_t path) const { return table_.state(path); }
  const std::vector<std::string>& story() const { return story_; }
  const std::vector<PathProbe>& probes() const { return probes_; }
  std::uint64_t timeouts() const { return timeouts_; }

  void cut(std::uint8_t path) { cut_[path] = true; }
  void mend(std::uint8_t path) { cut_[path] = false; }
  void sleep() { peer_sleeps_ = true; }
  // Everything is answered now, the highest path first.
  void wake() {
    peer_sleeps_ = false;
    std::reverse(asleep_.begin(), asleep_.end());
    for (auto& message : asleep_) answer(message);
    asleep_.clear();
    settle();
  }
  void lose_answers(bool lost) { answers_lost_ = lost; }
  void send(std::uint8_t path) {
    table_.on_sent(now_, path, kPacket);
    transmit({.path = path, .sent_at = now_});
  }
  // Sends a packet on a path that the table chooses, every microsecond.
  void load(Duration duration) {
    const Instant end = now_ + duration;
    while (now_ < end) {
      if (in_flight() < 200 * kPacket) {
        const auto path = table_.choose(kPacket);
        if (path) send(*path);
        table_.end_train();
      }
      run(microseconds(1));
    }
  }
  // Lets time pass.
  void run(Duration duration) {
    const Instant end = now_ + duration;
    int turns = 0;  // without a step of the clock
    while (next_event() <= end) {
      turns = next_event() > now_ ? 0 : turns + 1;
      ASSERT_LT(turns, 10) << "busy loop";
      now_ = std::max(now_, next_event());
      deliver();
      if (table_.timeout() <= now_) {
        ++timeouts_;
        table_.handle_timeout(now_);
      }
      settle();
    }
    now_ = end;
  }
  bool run_until(std::uint8_t path, PathState state, Duration at_most) {
    const Instant end = now_ + at_most;
    while (now_ < end && table_.state(path) != state) run(microseconds(10));
    return table_.state(path) == state;
  }
  void change_address(std::uint8_t path) {
    Address remote;
    remote.bytes[0] = std::byte{42};
    table_.on_address_changed(now_, path, remote);
    settle();
  }
  std::uint64_t in_flight() const {
    std::uint64_t bytes = 0;
    for (std::uint8_t path = 0; path < table_.size(); ++path) bytes += table_.in_flight_bytes(path);
    return bytes;
  }
  void forget_story() {
    story_.clear();
    probes_.clear();
  }

 private:
  struct Message {
    std::uint8_t path = 0;
    Instant sent_at;
    std::uint64_t challenge = 0;
    bool is_probe = false;
    Instant answer_at{};
  };

  Instant next_event() const {
    Instant next = table_.timeout();
    for (const Message& message : on_the_way_) next = std::min(next, message.answer_at);
    return next;
  }
  void transmit(Message message) {
    if (cut_[message.path] || answers_lost_) {
      if (!message.is_probe) ++lost_[message.path];
      return;
    }
    if (peer_sleeps_) return asleep_.push_back(message);
    answer(message);
  }
  void answer(Message& message) {
    message.answer_at = now_ + kRtt;
    on_the_way_.push_back(message);
  }
  void deliver() {
    std::vector<Message> due;
    std::erase_if(on_the_way_, [&](const Message& message) {
      if (message.answer_at <= now_) due.push_back(message);
      return message.answer_at <= now_;
    });
    for (const Message& message : due) {
      if (message.is_probe) {
        table_.on_probe_response(now_, message.path, message.challenge);
      } else if (table_.in_flight_bytes(message.path) >= kPacket) {
        table_.on_ack(now_, message.path, kPacket, 1, message.sent_at, Duration{}, 0);
      }
      find_losses(message.path);
      settle();
    }
  }
  // The path answers: what it did not answer is lost.
  void find_losses(std::uint8_t path) {
    std::uint32_t& lost = lost_[path];
    if (std::exchange(lost, 0) == 0 || table_.in_flight_bytes(path) == 0) return;
    const auto bytes = static_cast<std::uint32_t>(table_.in_flight_bytes(path));
    table_.on_lost(now_, path, bytes, bytes / kPacket);
  }
  // The owner's part: reports, flushes, sends probes.
  void settle() {
    while (const auto transition = table_.poll_transition()) {
      story_.push_back(std::to_string(int{transition->path}) + ": " + name_of(transition->from) +
                       " -> " + name_of(transition->to));
      if (transition->to != PathState::kDead) continue;
      table_.on_flushed(transition->path);
      lost_[transition->path] = 0;
    }
    while (const auto probe = table_.poll_probe(now_)) {
      probes_.push_back(*probe);
      transmit(
          {.path = probe->path, .sent_at = now_, .challenge = probe->challenge, .is_probe = true});
    }
  }

  PathTable table_;
  Instant now_ = Instant{} + seconds(1);
  std::vector<bool> cut_;
  std::vector<std::uint32_t> lost_;  // packets that a cut path swallowed, not yet found out
  bool peer_sleeps_ = false;
  bool answers_lost_ = false;
  std::vector<Message> on_the_way_;
  std::vector<Message> asleep_;
  std::vector<std::string> story_;
  std::vector<PathProbe> probes_;
  std::uint64_t timeouts_ = 0;
};

using Story = std::vector<std::string>;

TEST(PathTableHealth, quiet_paths_need_no_timer) {
  Net net({0, 1, 2});
  EXPECT_EQ(net.table().timeout(), Instant::never());
  net.load(microseconds(100));
  net.run(seconds(10));
  EXPECT_EQ(net.table().timeout(), Instant::never());
  EXPECT_LE(net.timeouts(), 1U) << "only the one that the last packets had armed";
  EXPECT_TRUE(net.story().empty());
  EXPECT_TRUE(net.probes().empty());
}

TEST(PathTableHealth, load_without_faults_tells_no_story) {
  Net net({0, 1, 2});
  net.load(milliseconds(20));
  EXPECT_TRUE(net.story().empty());
  EXPECT_TRUE(net.probes().empty());
}

TEST(PathTableHealth, silence_probes_the_path_and_two_of_other_groups) {
  Net net({0, 0, 0, 1, 2});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1));
  EXPECT_EQ(net.state(0), PathState::kSuspect);
  std::map<std::uint8_t, std::uint32_t> sizes;
  for (const PathProbe& probe : net.probes()) sizes[probe.path] = probe.pad_to_bytes;
  EXPECT_EQ(sizes, (std::map<std::uint8_t, std::uint32_t>{{0, 9'000}, {3, 0}, {4, 0}}))
      << "the suspect one under load";
}

TEST(PathTableHealth, silence_asks_paths_of_the_same_group_when_there_are_no_others) {
  Net net({7, 7, 7, 7});
  net.cut(2);
  net.send(2);
  net.run(milliseconds(1));
  std::set<std::uint8_t> asked;
  for (const PathProbe& probe : net.probes()) asked.insert(probe.path);
  EXPECT_EQ(asked, (std::set<std::uint8_t>{0, 2, 3}));
}

TEST(PathTableHealth, silence_asks_two_different_groups_before_one_twice) {
  Net net({0, 1, 1, 2});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1));
  std::set<std::uint8_t> asked;
  for (const PathProbe& probe : net.probes()) asked.insert(probe.path);
  EXPECT_EQ(asked, (std::set<std::uint8_t>{0, 1, 3}));
}

TEST(PathTableHealth, cut_path_dies_and_is_flushed) {
  Net net({0, 1, 2});
  net.cut(1);
  net.send(1);
  net.send(1);
  net.run(milliseconds(2) + kRtt - microseconds(10));
  EXPECT_EQ(net.state(1), PathState::kSuspect);
  net.run(microseconds(10));
  EXPECT_EQ(net.story(), (Story{"1: good -> suspect", "1: suspect -> dead", "1: dead -> held"}));
  EXPECT_EQ(net.table().in_flight_bytes(1), 0U);
  EXPECT_FALSE(net.table().usable(1));
  EXPECT_EQ(net.table().share_per_mille(1), 333U) << "of what there was with it";
  EXPECT_EQ(net.table().share_per_mille(0), 500U);
}

TEST(PathTableHealth, cut_under_load_kills_that_path_only) {
  Net net({0, 1, 2, 3});
  net.load(milliseconds(2));
  net.cut(2);
  net.load(milliseconds(3));
  EXPECT_EQ(net.story(), (Story{"2: good -> suspect", "2: suspect -> dead", "2: dead -> held"}));
}

TEST(PathTableHealth, two_cuts_at_once) {
  Net net({0, 1, 2, 3});
  net.load(milliseconds(2));
  net.cut(0);
  net.cut(3);
  net.load(milliseconds(3));
  EXPECT_EQ(net.state(0), PathState::kHeld);
  EXPECT_EQ(net.state(3), PathState::kHeld);
  EXPECT_EQ(net.state(1), PathState::kGood);
  EXPECT_EQ(net.state(2), PathState::kGood);
}

TEST(PathTableHealth, suspect_path_gets_no_data_while_another_is_good) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1));
  ASSERT_EQ(net.state(0), PathState::kSuspect);
  EXPECT_TRUE(net.table().usable(0));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(net.table().choose(kPacket), 1);
    net.table().end_train();
  }
  EXPECT_EQ(net.table().best(), 1);
}

TEST(PathTableHealth, suspicion_ends_the_train) {
  Net net({0, 1});
  ASSERT_EQ(net.table().choose(kPacket), 0);
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1));
  EXPECT_EQ(net.table().choose(kPacket), 1);
}

TEST(PathTableHealth, single_path_never_dies) {
  Net net({0});
  net.cut(0);
  net.send(0);
  net.run(seconds(100));
  EXPECT_EQ(net.story(), (Story{"0: good -> suspect"}));
  EXPECT_TRUE(net.table().usable(0));
  EXPECT_EQ(net.table().choose(kPacket), 0);
  EXPECT_GT(net.probes().size(), 100U);
  EXPECT_LT(net.probes().size(), 115U);
  net.mend(0);
  net.run(seconds(1) + kRtt);
  EXPECT_EQ(net.state(0), PathState::kGood);
}

TEST(PathTableHealth, sleeping_peer_kills_no_path) {
  for (const Duration nap : {milliseconds(3), milliseconds(50), seconds(5)}) {
    Net net({0, 1, 2, 3});
    net.load(milliseconds(1));
    net.sleep();
    net.load(milliseconds(2));
    net.run(nap);
    for (std::uint8_t path = 0; path < 4; ++path) EXPECT_EQ(net.state(path), PathState::kSuspect);
    net.wake();
    net.load(milliseconds(5));
    for (const std::string& line : net.story()) {
      EXPECT_EQ(line.find("dead"), std::string::npos) << line;
    }
    for (std::uint8_t path = 0; path < 4; ++path) EXPECT_EQ(net.state(path), PathState::kGood);
  }
}

// The answers, too, take a path: the peer's. It changes it when it hears the same again.
TEST(PathTableHealth, answers_that_were_lost_before_the_peer_changed_its_path_kill_nobody) {
  Net net({0, 1, 2});
  net.load(milliseconds(1));
  net.lose_answers(true);
  net.load(milliseconds(3));
  ASSERT_EQ(net.state(0), PathState::kSuspect);
  // Of the probes of one round the last one is the first whose answer arrives.
  const std::size_t before = net.probes().size();
  while (net.probes().size() < before + 3) net.run(microseconds(1));
  net.lose_answers(false);
  const PathProbe last = net.probes().back();
  net.run(kRtt);
  EXPECT_TRUE(net.table().on_probe_response(net.now(), last.path, last.challenge));
  net.run(Duration{});
  net.load(milliseconds(5));
  for (const std::string& line : net.story()) {
    EXPECT_EQ(line.find("dead"), std::string::npos) << line;
  }
}

TEST(PathTableHealth, partition_that_heals_for_one_path_first) {
  Net net({0, 1, 2});
  for (std::uint8_t path = 0; path < 3; ++path) {
    net.cut(path);
    net.send(path);
  }
  net.run(seconds(10));
  for (std::uint8_t path = 0; path < 3; ++path) EXPECT_EQ(net.state(path), PathState::kSuspect);
  net.mend(1);
  EXPECT_TRUE(net.run_until(1, PathState::kGood, seconds(1) + milliseconds(1)));
  // Somebody answers: it is the paths.
  EXPECT_TRUE(net.run_until(0, PathState::kHeld, milliseconds(2)));
  EXPECT_TRUE(net.run_until(2, PathState::kHeld, milliseconds(2)));
}

TEST(PathTableHealth, last_path_stays_usable_and_held_ones_are_probed_at_once) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  ASSERT_TRUE(net.run_until(0, PathState::kHeld, milliseconds(10)));
  net.cut(1);
  net.send(1);
  net.mend(0);
  // Path 0 rests for a second. But then path 1 falls silent too.
  EXPECT_TRUE(net.run_until(0, PathState::kGood, milliseconds(3)));
  EXPECT_TRUE(net.run_until(1, PathState::kHeld, milliseconds(5)));
  EXPECT_EQ(net.table().choose(kPacket), 0);
  EXPECT_TRUE(net.table().usable(0));
}

TEST(PathTableHealth, path_that_dies_while_none_is_good_is_probed_at_once) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1) + kRtt);
  ASSERT_EQ(net.state(0), PathState::kSuspect);
  net.cut(1);
  net.send(1);
  net.run(milliseconds(1) + microseconds(100));
  EXPECT_EQ(net.state(1), PathState::kSuspect);
  EXPECT_EQ(net.state(0), PathState::kProbing);
  net.run(seconds(3));
  EXPECT_EQ(net.state(0), PathState::kProbing) << "nobody answers: no verdict";
  EXPECT_EQ(net.state(1), PathState::kSuspect);
  net.mend(0);
  EXPECT_TRUE(net.run_until(0, PathState::kGood, seconds(2)));
}

TEST(PathTableHealth, all_cut_and_mended_come_back) {
  Net net({0, 1, 2});
  net.load(milliseconds(1));
  for (std::uint8_t path = 0; path < 3; ++path) net.cut(path);
  net.load(milliseconds(1'500));
  for (std::uint8_t path = 0; path < 3; ++path) net.mend(path);
  net.run(seconds(2));
  for (std::uint8_t path = 0; path < 3; ++path) EXPECT_EQ(net.state(path), PathState::kGood);
}

TEST(PathTableHealth, mended_path_returns_after_hold_and_probes_with_a_small_share) {
  Net net({0, 1, 2});
  net.cut(1);
  net.send(1);
  ASSERT_TRUE(net.run_until(1, PathState::kHeld, milliseconds(10)));
  net.mend(1);
  net.forget_story();
  net.run(milliseconds(990));
  EXPECT_TRUE(net.probes().empty());
  ASSERT_TRUE(net.run_until(1, PathState::kGood, milliseconds(30)));
  EXPECT_EQ(net.story(), (Story{"1: held -> probing", "1: probing -> good"}));
  EXPECT_EQ(net.probes().size(), 8U);
  for (const PathProbe& probe : net.probes()) EXPECT_EQ(probe.pad_to_bytes, 9'000U);
  EXPECT_EQ(net.table().weight(1), 32U);
  net.load(milliseconds(10));
  EXPECT_EQ(net.table().weight(1), 256U) << "in steps of 16 RTT";
}

TEST(PathTableHealth, path_that_dies_again_is_held_twice_as_long) {
  Net net({0, 1, 2});
  Duration last;
  for (int i = 0; i < 4; ++i) {
    net.cut(1);
    net.send(1);
    ASSERT_TRUE(net.run_until(1, PathState::kHeld, milliseconds(10)));
    const Instant died = net.now();
    net.mend(1);
    ASSERT_TRUE(net.run_until(1, PathState::kGood, seconds(20)));
    const Duration held = net.now() - died;
    EXPECT_GT(held, last * 19 / 10);
    last = held;
  }
}

TEST(PathTableHealth, held_path_that_stays_cut_is_probed_for_ever) {
  Net net({0, 1, 2});
  net.cut(1);
  net.send(1);
  net.run(seconds(3'600));
  net.forget_story();
  net.run(seconds(200));
  EXPECT_GE(net.probes().size(), 6U) << "every 60 seconds one, with witnesses";
  net.mend(1);
  EXPECT_TRUE(net.run_until(1, PathState::kGood, seconds(61)));
}

TEST(PathTableHealth, on_probe_response__foreign_challenges_and_paths) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1));
  ASSERT_EQ(net.state(0), PathState::kSuspect);
  const std::uint64_t challenge = net.probes().front().challenge;
  EXPECT_FALSE(net.table().on_probe_response(net.now(), 0, challenge ^ 8));
  EXPECT_FALSE(net.table().on_probe_response(net.now(), 1, challenge)) << "another path's";
  EXPECT_FALSE(net.table().on_probe_response(net.now(), 2, challenge));
  EXPECT_FALSE(net.table().on_probe_response(net.now(), 255, challenge));
  EXPECT_EQ(net.state(0), PathState::kSuspect);
  EXPECT_TRUE(net.table().on_probe_response(net.now(), 0, challenge));
  EXPECT_FALSE(net.table().on_probe_response(net.now(), 0, challenge)) << "once";
  EXPECT_EQ(net.state(0), PathState::kGood);
}

TEST(PathTableHealth, on_probe_response__measures_the_rtt) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  net.run(milliseconds(1) + kRtt);
  EXPECT_EQ(net.table().smoothed_rtt(1), kRtt) << "of the witness";
  EXPECT_EQ(net.table().smoothed_rtt(0), Duration{});
}

TEST(PathTableHealth, poll_transition__there_and_back_is_not_reported) {
  Net net({0, 1});
  PathTable& table = net.table();
  table.on_sent(net.now(), 0, kPacket);
  const Instant later = net.now() + milliseconds(1);
  table.handle_timeout(later);
  ASSERT_EQ(table.state(0), PathState::kSuspect);
  table.on_ack(later, 0, kPacket, 1, later - kRtt, Duration{}, 0);
  EXPECT_FALSE(table.poll_transition().has_value());
}

TEST(PathTableHealth, on_ack__of_nothing_new_is_no_sign_of_life) {
  Net net({0, 1});
  PathTable& table = net.table();
  table.on_sent(net.now(), 0, kPacket);
  table.on_ack(net.now() + microseconds(900), 0, 0, 0, std::nullopt, Duration{}, 0);
  table.handle_timeout(net.now() + milliseconds(1));
  EXPECT_EQ(table.state(0), PathState::kSuspect);
}

TEST(PathTableHealth, suspicion_follows_the_rtt) {
  PathTable table({}, milliseconds(1), 64 * 1024, 2, 1);
  static_cast<void>(table.add({}));
  const Instant start = Instant{} + seconds(1);
  table.on_sent(start, 0, kPacket);
  EXPECT_EQ(table.timeout(), start + milliseconds(4)) << "four times the initial RTT";
  table.on_sent(start, 0, kPacket);
  table.on_ack(start + milliseconds(2), 0, kPacket, 1, start, Duration{}, 0);
  EXPECT_LE(table.timeout(), start + milliseconds(10)) << "the old deadline may still wake";
  table.handle_timeout(start + milliseconds(4));
  EXPECT_EQ(table.state(0), PathState::kGood);
  EXPECT_EQ(table.timeout(), start + milliseconds(10));
}

TEST(PathTableHealth, suspicion_comes_sooner_when_the_rtt_falls) {
  PathTable table({}, milliseconds(1), 64 * 1024, 2, 1);
  static_cast<void>(table.add({}));
  const Instant start = Instant{} + seconds(1);
  table.on_sent(start, 0, kPacket);
  table.on_sent(start, 0, kPacket);
  table.on_ack(start + microseconds(20), 0, kPacket, 1, start, Duration{}, 0);
  EXPECT_EQ(table.timeout(), start + microseconds(1'020));
}

TEST(PathTableHealth, lossy_path_is_not_taken_for_dead) {
  Net net({0, 1});
  Prng prng(4);
  for (int i = 0; i < 20'000; ++i) {
    for (std::uint8_t path = 0; path < 2; ++path) {
      if (path == 0 && prng.chance(50'000)) {
        net.table().on_sent(net.now(), 0, kPacket);
        net.table().on_lost(net.now(), 0, kPacket, 1);
      } else {
        net.send(path);
      }
    }
    net.run(microseconds(2));
  }
  EXPECT_TRUE(net.story().empty());
  EXPECT_LT(net.table().weight(0), 128U) << "it carries clearly less";
  EXPECT_GE(net.table().weight(0), 32U) << "but some";
  EXPECT_EQ(net.table().weight(1), 256U);
}

TEST(PathTableHealth, on_address_changed__beside_others) {
  Net net({0, 1});
  net.load(milliseconds(1));
  net.change_address(0);
  EXPECT_EQ(net.state(0), PathState::kProbing);
  EXPECT_EQ(net.table().config(0).remote.bytes[0], std::byte{42});
  EXPECT_EQ(net.table().smoothed_rtt(0), Duration{}) << "it may lead elsewhere";
  EXPECT_EQ(net.table().choose(kPacket), 1);
  EXPECT_TRUE(net.run_until(0, PathState::kGood, milliseconds(10))) << "no hold-down";
}

TEST(PathTableHealth, on_address_changed__late_acks_of_the_old_address_are_no_samples) {
  PathTable table({}, milliseconds(1), 64 * 1024, 2, 1);
  for (const std::uint8_t nic : {std::uint8_t{0}, std::uint8_t{1}}) {
    PathConfig config;
    config.nic = nic;
    config.group = nic;
    ASSERT_TRUE(table.add(config).ok());
  }
  const Instant sent_at{1'000'000};
  table.on_sent(sent_at, 0, kPacket);
  Address remote;
  remote.bytes[0] = std::byte{42};
  table.on_address_changed(sent_at + milliseconds(1), 0, remote);
  const Instant now = sent_at + seconds(1);
  table.on_ack(now, 0, kPacket, 1, sent_at, Duration{}, 0);
  EXPECT_EQ(table.in_flight_bytes(0), 0U);
  EXPECT_EQ(table.smoothed_rtt(0), Duration{});
  const auto probe = table.poll_probe(now);
  ASSERT_TRUE(probe.has_value());
  ASSERT_TRUE(table.on_probe_response(now + microseconds(20), 0, probe->challenge));
  EXPECT_EQ(table.smoothed_rtt(0), microseconds(20));
}

TEST(PathTableHealth, on_address_changed__the_only_path) {
  Net net({0});
  net.load(milliseconds(1));
  net.change_address(0);
  EXPECT_EQ(net.state(0), PathState::kSuspect);
  EXPECT_EQ(net.table().choose(kPacket), 0);
  net.run(kRtt);
  EXPECT_EQ(net.state(0), PathState::kGood);
}

TEST(PathTableHealth, on_address_changed__of_the_last_good_path_hurries_the_held_one) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  ASSERT_TRUE(net.run_until(0, PathState::kHeld, milliseconds(10)));
  net.cut(1);
  net.mend(0);
  net.change_address(1);
  EXPECT_EQ(net.state(1), PathState::kSuspect);
  EXPECT_EQ(net.state(0), PathState::kProbing);
  EXPECT_TRUE(net.run_until(0, PathState::kGood, milliseconds(3)));
}

TEST(PathTableHealth, on_address_changed__of_the_last_good_path_cuts_a_back_off_short) {
  Net net({0, 1});
  net.cut(0);
  net.send(0);
  ASSERT_TRUE(net.run_until(0, PathState::kHeld, milliseconds(10)));
  net.cut(1);  // idle, so it stays good; but nobody is left to be a witness
  net.run(milliseconds(2'500));
  ASSERT_EQ(net.state(0), PathState::kProbing);
  ASSERT_EQ(net.state(1), PathState::kGood);
  net.forget_story();
  net.change_address(1);
  std::set<std::uint8_t> probed;
  for (const PathProbe& probe : net.probes()) probed.insert(probe.path);
  EXPECT_EQ(probed, (std::set<std::uint8_t>{0, 1}));
}

TEST(PathTableHealth, on_address_changed__new_address_does_not_answer) {
  Net net({0, 1});
  net.load(milliseconds(1));
  net.cut(0);
  net.change_address(0);
  net.load(milliseconds(5));
  EXPECT_EQ(net.state(0), PathState::kHeld);
  EXPECT_EQ(net.table().in_flight_bytes(0), 0U) << "it went by way of dead";
}

// Random cuts, naps and address changes: some path is always usable, no deadline lies in
// the past, and when all is well again all paths return.
void live_a_random_life(std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::uint8_t> groups(1 + prng.below(6));
  for (auto& group : groups) group = static_cast<std::uint8_t>(prng.below(3));
  Net net(groups, seed);
  for (int step = 0; step < 30; ++step) {
    const auto path = static_cast<std::uint8_t>(prng.below(groups.size()));
    switch (prng.below(8)) {
      case 0:
      case 1: net.cut(path); break;
      case 2:
      case 3: net.mend(path); break;
      case 4: net.sleep(); break;
      case 5: net.wake(); break;
      case 6: net.change_address(path); break;
      default: net.run(milliseconds(static_cast<std::int64_t>(prng.below(2'000)))); break;
    }
    net.load(microseconds(static_cast<std::int64_t>(prng.below(3'000))));
    RC_ASSERT(net.table().choose(kPacket).has_value());
    RC_ASSERT(net.table().usable(net.table().best().value()));
  }
  for (std::uint8_t path = 0; path < groups.size(); ++path) net.mend(path);
  net.wake();
  net.run(seconds(70));
  for (std::uint8_t path = 0; path < groups.size(); ++path) {
    RC_ASSERT(net.state(path) == PathState::kGood);
  }
}

TEST(PathTableHealth, random_lives_end_well) {
  EXPECT_TRUE(rc::check("all paths return", live_a_random_life));
}

std::vector<std::string> story_of(std::uint64_t seed) {
  Net net({0, 1, 2, 3}, seed);
  net.load(milliseconds(1));
  net.cut(1);
  net.load(milliseconds(3));
  net.mend(1);
  net.cut(2);
  net.run(milliseconds(1'100));
  std::vector<std::string> story = net.story();
  for (const PathProbe& probe : net.probes()) story.push_back(std::to_string(probe.challenge));
  return story;
}

TEST(PathTableHealth, same_seed_same_story) {
  EXPECT_EQ(story_of(7), story_of(7));
  EXPECT_NE(story_of(7), story_of(8)) << "the challenges differ";
}

}  // namespace
}  // namespace zhinu::core

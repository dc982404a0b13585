#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "sim/check/generate_parts.h"

namespace zhinu::sim::check {
namespace {

constexpr std::uint64_t kKiB = 1'024;
constexpr std::uint64_t kMiB = 1'024 * kKiB;
constexpr std::uint32_t kTags = 4;            // per communicator, beside the special ones
constexpr std::uint32_t kAnySourceTag = 100;  // receives of this tag take any source
constexpr std::uint32_t kTruncatedTag = 101;  // receives of this tag are too small
constexpr std::uint64_t kAnySourceBytesMax = 4 * kKiB;
constexpr std::uint64_t kRegionBytesMax = 2 * kMiB;

constexpr std::array kUserClasses = {TrafficClass::kGradient, TrafficClass::kGradient,
                                     TrafficClass::kWeights, TrafficClass::kDataset,
                                     TrafficClass::kInternal};

// What a communicator is for.
enum class Role : std::uint8_t { kOrdinary, kNeverPosts, kMismatch, kAborted };

std::uint64_t message_bytes(Prng& dice, std::uint64_t eager, std::uint64_t left) {
  const std::uint64_t roll = dice.below(1'000);
  std::uint64_t bytes = 0;
  if (roll < 50) {
    bytes = dice.below(2);
  } else if (roll < 150) {
    bytes = dice.between(127, 129);
  } else if (roll < 500) {
    bytes = dice.between(1, kKiB);
  } else if (roll < 600) {
    bytes = dice.between(eager - 1, eager + 1);
  } else if (roll < 850) {
    bytes = dice.between(kKiB, 64 * kKiB);
  } else if (roll < 998) {
    bytes = dice.between(64 * kKiB, one_in(dice, 4) ? kMiB : 256 * kKiB);
  } else {
    bytes = dice.between(kMiB, 8 * kMiB);
  }
  return std::min(bytes, left);
}

// Some time around `at`, mostly close to it, never before the start.
Duration around(Prng& dice, Duration at, Duration work_time) {
  const Duration spread = one_in(dice, 4) ? milliseconds(50) : milliseconds(2);
  const Duration moved = at - spread + duration_below(dice, 2 * spread);
  return std::clamp(moved, Duration{}, work_time);
}

class Messages {
 public:
  Messages(Prng& dice, Plan& plan, Scenario& scenario)
      : dice_(dice), plan_(plan), scenario_(scenario) {
    for (std::uint32_t i = 0; i < scenario.communicators; ++i) roles_.push_back(Role::kOrdinary);
    // Communicator 0 stays ordinary, so that something always has to end well.
    if (scenario.communicators > 1 && one_in(dice, 3)) roles_[1] = Role::kNeverPosts;
    if (scenario.communicators > 2 && one_in(dice, 8)) roles_[2] = Role::kMismatch;
    if (scenario.communicators > 3 && one_in(dice, 8)) roles_[3] = Role::kAborted;
    for (std::uint32_t i = 0; i < scenario.communicators; ++i) digests_.push_back(one_in(dice, 3));
    give_up_ = one_in(dice, 3);
  }

  void add_all() {
    for (std::uint32_t id = 0; id < plan_.messages; ++id) add(id);
    align();
    if (scenario_.communicators > 3 && roles_[3] == Role::kAborted) add_abort();
  }

 private:
  void add(std::uint32_t id) {
    Message message;
    message.id = id;
    const std::uint32_t nodes = scenario_.fabric.nodes;
    message.from = static_cast<std::uint32_t>(dice_.below(nodes));
    message.to = static_cast<std::uint32_t>((message.from + dice_.between(1, nodes - 1)) % nodes);
    message.communicator = static_cast<std::uint32_t>(dice_.below(scenario_.communicators));
    message.traffic_class = pick(dice_, kUserClasses);
    message.tag = static_cast<std::uint32_t>(dice_.below(kTags));
    const core::EndpointOptions& options = scenario_.endpoints[id % scenario_.endpoints.size()];
    message.bytes = message_bytes(dice_, options.eager_bytes_max, plan_.bytes_left);
    message.receive_bytes = message.bytes;
    if (one_in(dice_, 10)) message.tag = kAnySourceTag;
    if (one_in(dice_, 40)) message.tag = kTruncatedTag;
    message.any_source = message.tag == kAnySourceTag;
    if (message.any_source) {
      message.bytes = std::min(message.bytes, kAnySourceBytesMax);
      message.receive_bytes = kAnySourceBytesMax;
    }
    if (message.tag == kTruncatedTag) message.receive_bytes = message.bytes / 2;
    plan_.bytes_left -= message.bytes;
    message.send_at = duration_below(dice_, plan_.work_time);
    message.receive_at = around(dice_, message.send_at, plan_.work_time);
    play_role(message);
    if (give_up_) give_up(message);
    scenario_.messages.push_back(message);
  }

  void play_role(Message& message) {
    const Role role = roles_[message.communicator];
    if (role == Role::kNeverPosts) message.receive_at = kNever;
    if (!digests_[message.communicator] && role != Role::kMismatch) return;
    const std::uint32_t digest = 1 + message.communicator * 1'000 + message.tag;
    message.send_digest = digest;
    message.receive_digest = digest;
    if (role == Role::kMismatch && one_in(dice_, 4)) message.send_digest = digest + 500;
  }

  void give_up(Message& message) {
    const auto soon = [this] {
      return duration_below(dice_, milliseconds(one_in(dice_, 2) ? 1 : 20));
    };
    if (one_in(dice_, 12)) message.send_cancel = soon();
    if (one_in(dice_, 12)) message.receive_cancel = soon();
    if (one_in(dice_, 12)) message.send_deadline = soon();
    if (one_in(dice_, 12)) message.receive_deadline = soon();
  }

  // The n-th send of a stream meets its n-th receive, so that sizes fit.
  void align() {
    using Key =
        std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, TrafficClass, std::uint32_t>;
    std::map<Key, std::vector<std::uint32_t>> streams;
    for (std::uint32_t i = 0; i < scenario_.messages.size(); ++i) {
      const Message& m = scenario_.messages[i];
      if (!happens(m.receive_at)) continue;
      streams[{m.from, m.to, m.communicator, m.traffic_class, m.tag}].push_back(i);
    }
    for (const auto& [key, members] : streams) {
      std::vector<Duration> sends;
      std::vector<Duration> receives;
      for (const std::uint32_t i : members) {
        sends.push_back(scenario_.messages[i].send_at);
        receives.push_back(scenario_.messages[i].receive_at);
      }
      std::sort(sends.begin(), sends.end());
      std::sort(receives.begin(), receives.end());
      for (std::size_t n = 0; n < members.size(); ++n) {
        scenario_.messages[members[n]].send_at = sends[n];
        scenario_.messages[members[n]].receive_at = receives[n];
      }
    }
  }

  void add_abort() {
    Action abort;
    abort.kind = ActionKind::kAbort;
    abort.at = duration_below(dice_, plan_.work_time);
    abort.node = static_cast<std::uint32_t>(dice_.below(scenario_.fabric.nodes));
    abort.communicator = 3;
    scenario_.actions.push_back(abort);
  }

  Prng& dice_;
  Plan& plan_;
  Scenario& scenario_;
  std::vector<Role> roles_;
  std::vector<bool> digests_;
  bool give_up_ = false;
};

// Appends a write or read of its own slot of the region; false when the region is full.
bool add_access(Prng& dice, const Plan& plan, Scenario& scenario, Region& region,
                std::uint32_t id) {
  Access access;
  access.id = id;
  access.region = region.id;
  const std::uint32_t nodes = scenario.fabric.nodes;
  access.from = static_cast<std::uint32_t>((region.node + dice.between(1, nodes - 1)) % nodes);
  access.traffic_class = pick(dice, kUserClasses);
  // Mostly the ordinary one; others end the access when they are aborted.
  access.communicator =
      one_in(dice, 2) ? 0 : static_cast<std::uint32_t>(dice.below(scenario.communicators));
  access.write = region.writable;
  access.bytes = message_bytes(dice, 4 * kKiB, kRegionBytesMax - region.bytes);
  access.at = duration_below(dice, plan.work_time);
  if (access.write) {
    access.offset = region.bytes;
    access.notify = one_in(dice, 2);
    access.ordered = access.notify && one_in(dice, 2);
  } else {
    access.offset = dice.below(region.bytes - std::min(access.bytes, region.bytes) + 1);
    access.bytes = std::min(access.bytes, region.bytes - access.offset);
  }
  if (one_in(dice, 20)) access.cancel = duration_below(dice, milliseconds(5));
  if (one_in(dice, 20)) access.deadline = duration_below(dice, milliseconds(20));
  if (access.write) region.bytes += access.bytes + 64;
  scenario.accesses.push_back(access);
  return region.bytes + 64 < kRegionBytesMax;
}

}  // namespace

void add_messages(Prng& dice, Plan& plan, Scenario& scenario) {
  Messages(dice, plan, scenario).add_all();
}

void add_accesses(Prng& dice, Plan& plan, Scenario& scenario) {
  if (one_in(dice, 3)) return;
  const auto regions = static_cast<std::uint32_t>(dice.between(1, 4));
  std::uint32_t id = 0;
  for (std::uint32_t index = 0; index < regions; ++index) {
    Region region;
    region.id = index;
    region.node = static_cast<std::uint32_t>(dice.below(scenario.fabric.nodes));
    region.writable = one_in(dice, 2);
    region.bytes = region.writable ? 64 : dice.between(1, 512 * kKiB);
    if (one_in(dice, 4)) region.revoke_at = duration_below(dice, plan.work_time);
    std::uint64_t wanted = dice.between(1, 40);
    while (wanted > 0 && add_access(dice, plan, scenario, region, id)) {
      --wanted;
      ++id;
      if (!region.writable || !one_in(dice, 4)) continue;
      // Written again, later: the slot is known to be free by then or it waits.
      Access again = scenario.accesses.back();
      again.id = id++;
      again.at = again.at + duration_below(dice, milliseconds(5));
      scenario.accesses.push_back(again);
    }
    ++id;
    scenario.regions.push_back(region);
  }
}

}  // namespace zhinu::sim::check

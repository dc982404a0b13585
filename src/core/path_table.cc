// Selection, packet numbers and measurements. What the state machines need of each other
// is in path_table_health.cc.
#include "core/path_table.h"

#include <array>
#include <bit>
#include <limits>

#include "base/prng.h"
#include "core/path_entry.h"

namespace zhinu::core {
namespace {

// A queue of the receiver that is served a little later than its neighbour is no loss.
constexpr Duration kReorderFloor = microseconds(20);
// Room for a receiver whose thread is woken up before it acknowledges.
constexpr Duration kVariationFloor = microseconds(100);
// A path counts for the medians when its last ACK is at most this many of its RTTs old.
constexpr std::int64_t kRecentRtts = 4;

// Streams of numbers that the seed is spread to.
constexpr std::uint64_t kSecretStream = 0x7365'6372'6574ULL;
constexpr std::uint64_t kGapStream = 0x6761'70ULL;

}  // namespace

PathTable::PathTable(const PathOptions& options, Duration initial_rtt, std::uint32_t train_bytes,
                     std::uint32_t paths_max, std::uint64_t seed)
    : options_(options),
      initial_rtt_(initial_rtt),
      train_bytes_(train_bytes),
      paths_max_(paths_max),
      seed_(seed),
      best_rtt_(initial_rtt) {
  static_assert(sizeof(Path) <= 256, "budget of design decision 10");
  ZHINU_ASSERT(paths_max <= kPathsMax);
  ZHINU_ASSERT(initial_rtt > Duration{});
  ZHINU_ASSERT(options.skip_packets_min > 0);
  ZHINU_ASSERT(options.skip_packets_min <= options.skip_packets_max);
}

PathTable::~PathTable() = default;
PathTable::PathTable(PathTable&&) noexcept = default;
PathTable& PathTable::operator=(PathTable&&) noexcept = default;

std::size_t PathTable::bytes_per_path() { return sizeof(Path); }

void PathTable::reserve(std::size_t paths) { paths_.reserve(paths); }

Result<std::uint8_t> PathTable::add(const PathConfig& config) {
  if (count_ == paths_max_) return Errc::kFull;
  paths_.emplace_back();
  return start(config);
}

void PathTable::renew(std::uint64_t seed) {
  PathTable renewed(options_, initial_rtt_, train_bytes_, paths_max_, seed);
  renewed.paths_ = std::move(paths_);
  for (Path& entry : renewed.paths_) {
    const PathConfig config = entry.config;
    entry = Path{};
    renewed.start(config);
  }
  *this = std::move(renewed);
}

// The next entry becomes a path.
std::uint8_t PathTable::start(const PathConfig& config) {
  const auto path = static_cast<std::uint8_t>(count_++);
  Path& entry = at(path);
  entry.config = config;
  entry.weight = PathWeight(config.weight);
  entry.until_gap = gap_after(path, 0);
  good_ |= bit(path);
  usable_ |= bit(path);
  if (config.weight == 0) standby_ |= bit(path);
  find_best();
  return path;
}

const PathConfig& PathTable::config(std::uint8_t path) const { return at(path).config; }
PathState PathTable::state(std::uint8_t path) const { return at(path).health.state(); }

// Selection.

PathTable::Mask PathTable::candidates() const {
  if ((good_ & ~standby_) != 0) return good_ & ~standby_;
  if (good_ != 0) return good_;
  return (usable_ & ~standby_) != 0 ? usable_ & ~standby_ : usable_;
}

std::optional<std::uint8_t> PathTable::start_train(std::uint32_t bytes) {
  end_train();
  const Mask among = candidates();
  if (among == 0) return std::nullopt;
  train_path_ = std::has_single_bit(among) ? static_cast<std::uint8_t>(std::countr_zero(among))
                                           : next_in_turn(least_loaded(among));
  train_left_ = bytes < train_bytes_ ? train_bytes_ - bytes : 0;
  return train_path_;
}

// All paths of `among` with the smallest quotient of bytes in flight and weight.
PathTable::Mask PathTable::least_loaded(Mask among) const {
  Mask least = 0;
  std::uint64_t bytes_min = 0;
  std::uint64_t weight_of_min = 1;
  for_each_bit(among, [&](std::uint8_t path) {
    const Path& entry = at(path);
    const std::uint64_t weight = std::max<std::uint64_t>(entry.weight.value(), 1);
    const std::uint64_t mine = std::uint64_t{entry.in_flight_bytes} * weight_of_min;
    const std::uint64_t theirs = bytes_min * weight;
    if (least != 0 && mine > theirs) return;
    least = (least != 0 && mine == theirs ? least : 0) | bit(path);
    bytes_min = entry.in_flight_bytes;
    weight_of_min = weight;
  });
  return least;
}

// Smooth weighted round robin: with nothing in flight, weights hold for single packets too.
std::uint8_t PathTable::next_in_turn(Mask among) {
  ZHINU_ASSERT(among != 0);
  auto next = static_cast<std::uint8_t>(std::countr_zero(among));
  if (std::has_single_bit(among)) return next;
  std::int32_t total = 0;
  for_each_bit(among, [&](std::uint8_t path) {
    const std::int32_t weight = std::max<std::int32_t>(at(path).weight.value(), 1);
    at(path).turn += weight;
    total += weight;
    if (at(path).turn > at(next).turn) next = path;
  });
  // The bound matters where the set of equals changes from call to call.
  at(next).turn = std::max(at(next).turn - total, -total);
  return next;
}

PathTable::Mask PathTable::best_first() const {
  const Mask mask = good_ != 0 ? good_ : usable_;
  return (mask & ~ack_avoid_) != 0 ? mask & ~ack_avoid_ : mask;
}

void PathTable::find_best() {
  const Mask among = best_first();
  if ((among & bit(best_path_)) == 0) {
    best_path_ = static_cast<std::uint8_t>(std::countr_zero(among));
  }
  for_each_bit(among, [&](std::uint8_t path) {
    if (rtt_or_initial(at(path)) < rtt_or_initial(at(best_path_))) best_path_ = path;
  });
}

void PathTable::rotate_ack_path() {
  if (count_ == 0) return;
  const Mask all = good_ != 0 ? good_ : usable_;
  ack_avoid_ |= bit(best_path_);
  if ((all & ~ack_avoid_) == 0) ack_avoid_ = bit(best_path_);  // all were tried: once more
  find_best();
}

// Packet numbers.

PathTable::Number PathTable::next_number(std::uint8_t path) {
  Path& entry = at(path);
  Number number;
  if (entry.until_gap-- == 0) {
    number.skipped = entry.next_number++;
    ++entry.skipped;
    entry.until_gap = gap_after(path, *number.skipped) - 1;
  }
  number.value = entry.next_number++;
  return number;
}

std::uint64_t PathTable::largest_sent(std::uint8_t path) const {
  const std::uint64_t next = at(path).next_number;
  return next > 0 ? next - 1 : 0;
}

// How many numbers are given out between the skipped one and the next that is. Drawn from
// the path's own stream, so that one more path changes nothing for the others.
std::uint32_t PathTable::gap_after(std::uint8_t path, std::uint64_t number) const {
  Prng prng(mix64(seed_ ^ kGapStream, path), number);
  return static_cast<std::uint32_t>(
      prng.between(options_.skip_packets_min, options_.skip_packets_max));
}

std::uint64_t PathTable::secret(std::uint8_t path) const {
  return mix64(seed_ ^ kSecretStream, path);
}

// Notifications.

void PathTable::on_sent(Instant now, std::uint8_t path, std::uint32_t bytes) {
  ZHINU_ASSERT(bytes > 0);
  Path& entry = at(path);
  entry.in_flight_bytes += bytes;
  if (entry.in_flight_bytes == bytes) {
    entry.health.on_first_outstanding(now);
    wake_at(entry.health.deadline(view(path)));
  }
}

void PathTable::on_ack(Instant now, std::uint8_t path, std::uint32_t acked_bytes,
                       std::uint32_t packets, std::optional<Instant> newest_sent_at,
                       std::optional<Duration> ack_delay, std::uint32_t marked) {
  Path& entry = at(path);
  ZHINU_ASSERT(acked_bytes <= entry.in_flight_bytes);
  entry.in_flight_bytes -= acked_bytes;
  // On its way back a path carries probes alone: what else is acknowledged left before it was
  // left, and went to another address if that changed.
  if (newest_sent_at && ack_delay && entry.health.usable()) {
    entry.rtt.add(now, now - *newest_sent_at, *ack_delay);
  }
  entry.marks.add(now, packets, marked, rtt_or_initial(entry));
  if (packets == 0) return;  // an old ACK once more is no sign of life

  entry.last_acked_at = now;
  entry.weight.on_acked(now, packets, ramp_step(entry));
  ack_avoid_ &= ~bit(path);
  const PathState before = entry.health.state();
  entry.health.on_acknowledged(now);
  if (entry.health.state() != before) settle(now, path, before);
  // An RTT that became smaller makes the silence shorter that is suspicious.
  if (entry.in_flight_bytes > 0) wake_at(entry.health.deadline(view(path)));
  if (newest_sent_at) tell_witness(now, path, *newest_sent_at);
  if (now >= refresh_at_) refresh(now);
}

void PathTable::on_lost(Instant now, std::uint8_t path, std::uint32_t bytes,
                        std::uint32_t packets) {
  Path& entry = at(path);
  ZHINU_ASSERT(bytes <= entry.in_flight_bytes);
  entry.in_flight_bytes -= bytes;
  entry.packets_lost += packets;
  entry.weight.on_lost(now, packets, ramp_step(entry));
}

// Measurements.

Duration PathTable::ramp_step(const Path& path) const {
  return std::int64_t{options_.ramp_rtts} * rtt_or_initial(path);
}

Duration PathTable::smoothed_rtt(std::uint8_t path) const { return at(path).rtt.smoothed(); }
Duration PathTable::rtt_variation(std::uint8_t path) const { return at(path).rtt.variation(); }
Duration PathTable::min_rtt(std::uint8_t path) const { return at(path).rtt.min(); }

Duration PathTable::loss_delay(std::uint8_t path) const {
  const Path& entry = at(path);
  const Duration rtt = rtt_or_initial(entry);
  return rtt + std::max({rtt / 4, entry.rtt.variation(), kReorderFloor});
}

Duration PathTable::probe_timeout(std::uint8_t path, Duration peer_ack_delay) const {
  const Path& entry = at(path);
  const Duration smoothed = entry.rtt.smoothed();
  if (smoothed == Duration{}) return 3 * initial_rtt_ + peer_ack_delay;
  return smoothed + std::max(4 * entry.rtt.variation(), kVariationFloor) + peer_ack_delay;
}

std::uint64_t PathTable::in_flight_bytes(std::uint8_t path) const {
  return at(path).in_flight_bytes;
}
std::uint16_t PathTable::weight(std::uint8_t path) const { return at(path).weight.value(); }
std::uint64_t PathTable::packets_sent(std::uint8_t path) const {
  return at(path).next_number - at(path).skipped;
}
std::uint64_t PathTable::packets_lost(std::uint8_t path) const { return at(path).packets_lost; }

std::uint32_t PathTable::share_per_mille(std::uint8_t path) const {
  std::uint32_t total = 0;
  for_each_bit(usable_ | bit(path), [&](std::uint8_t each) { total += weight(each); });
  return total > 0 ? std::uint32_t{weight(path)} * 1'000 / total : 0;
}

void PathTable::refresh(Instant now) {
  std::array<std::int64_t, kPathsMax> queue_delays_ns{};
  std::array<std::uint32_t, kPathsMax> marks_per_mille{};
  std::array<std::uint32_t, kPathsMax> losses_per_mille{};
  std::size_t recent = 0;
  Duration best{std::numeric_limits<std::int64_t>::max()};
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    const Path& entry = at(path);
    const Duration rtt = entry.rtt.smoothed();
    if (rtt == Duration{}) continue;
    if ((good_ & bit(path)) != 0) best = std::min(best, rtt);
    if (now - entry.last_acked_at > kRecentRtts * rtt) continue;
    queue_delays_ns[recent] = entry.rtt.queue_delay().ns;
    marks_per_mille[recent] = entry.marks.per_mille();
    losses_per_mille[recent] = entry.weight.loss_per_mille();
    ++recent;
  }
  best_rtt_ = best.ns == std::numeric_limits<std::int64_t>::max() ? initial_rtt_ : best;
  refresh_at_ = now + best_rtt_ / 2;
  find_best();
  if (recent == 0) return;
  const std::size_t middle = (recent - 1) / 2;
  const auto median_of = [&](auto& values) {
    std::nth_element(values.begin(), values.begin() + middle, values.begin() + recent);
    return values[middle];
  };
  median_queue_delay_ = {median_of(queue_delays_ns)};
  median_marked_per_mille_ = median_of(marks_per_mille);
  median_loss_per_mille_ = median_of(losses_per_mille);
}

}  // namespace zhinu::core

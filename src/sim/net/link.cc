#include "sim/net/link.h"

#include "base/check.h"

namespace zhinu::sim {
namespace {

constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;
// A link slower than this would hold a packet longer than a run lasts.
constexpr std::uint64_t kRateBitsMin = 10'000;
// CRC32C finds up to three flipped bits in any packet of ours; more it finds only almost always.
constexpr std::uint64_t kFlippedBitsMax = 3;

std::int64_t byte_ps_at(std::uint64_t bits_per_s, std::uint32_t per_mille) {
  std::uint64_t rate = bits_per_s / 1'000 * per_mille;
  if (rate < kRateBitsMin) rate = kRateBitsMin;
  const std::uint64_t ps = 8 * kPsPerSecond / rate;
  return static_cast<std::int64_t>(ps > 0 ? ps : 1);
}

}  // namespace

Link::Link(const LinkOptions& options, std::uint64_t seed, std::uint64_t entity)
    : options_(options), prng_(seed, entity) {
  byte_ps_ = byte_ps_at(options_.rate_bits_per_s, faults_.rate_per_mille);
}

Link::Verdict Link::offer(Instant now, Datagram& packet) {
  if (faults_.cut) {
    ++counters_.cut;
    return {};
  }
  if (faults_.clogged) {
    if (held_bytes_ + packet.size > options_.queue_bytes) {
      ++counters_.queue_full;
      return {};
    }
    return {.fate = Fate::kStuck, .arrives_at = {}};
  }
  if (faults_.loss_ppm > 0 && prng_.chance(faults_.loss_ppm)) {
    ++counters_.lost;
    return {};
  }
  if (faults_.corrupt_ppm > 0 && prng_.chance(faults_.corrupt_ppm)) damage(packet);
  Verdict verdict = forward(now, packet);
  if (verdict.fate != Fate::kForwarded) return verdict;
  verdict.arrives_at = verdict.arrives_at + faults_.extra_delay;
  if (faults_.reorder_ppm > 0 && prng_.chance(faults_.reorder_ppm)) {
    ++counters_.reordered;
    const auto spread = static_cast<std::uint64_t>(faults_.reorder_delay.ns) + 1;
    verdict.arrives_at.ns += static_cast<std::int64_t>(prng_.below(spread));
  }
  if (faults_.duplicate_ppm > 0 && prng_.chance(faults_.duplicate_ppm)) {
    ++counters_.duplicated;
    verdict.duplicate = true;
  }
  return verdict;
}

Link::Verdict Link::forward(Instant now, Datagram& packet) {
  const std::uint64_t queued = queued_bytes(now);
  if (queued + packet.size > options_.queue_bytes) {
    ++counters_.queue_full;
    return {};
  }
  if (queued > options_.ecn_bytes) {
    ++counters_.marked;
    packet.ecn_marked = true;
  }
  const std::int64_t now_ps = now.ns * kPsPerNs;
  if (busy_until_ps_ < now_ps) busy_until_ps_ = now_ps;
  busy_until_ps_ += byte_ps_ * packet.size;
  ++counters_.forwarded;
  counters_.bytes += packet.size;
  const Instant left{(busy_until_ps_ + kPsPerNs - 1) / kPsPerNs};
  return {.fate = Fate::kForwarded, .arrives_at = left + options_.delay};
}

void Link::hold(PacketPool& pool, PacketId id) {
  Datagram& packet = pool[id];
  packet.next = PacketId::none();
  held_bytes_ += packet.size;
  if (held_head_.is_none()) {
    held_head_ = id;
  } else {
    pool[held_tail_].next = id;
  }
  held_tail_ = id;
}

PacketId Link::take_held(PacketPool& pool) {
  const PacketId id = held_head_;
  if (id.is_none()) return id;
  held_head_ = pool[id].next;
  held_bytes_ -= pool[id].size;
  return id;
}

void Link::set_faults(const LinkFaults& faults) {
  faults_ = faults;
  byte_ps_ = byte_ps_at(options_.rate_bits_per_s, faults_.rate_per_mille);
}

void Link::set_rate(std::uint64_t bits_per_s) {
  options_.rate_bits_per_s = bits_per_s;
  byte_ps_ = byte_ps_at(bits_per_s, faults_.rate_per_mille);
}

std::uint64_t Link::queued_bytes(Instant now) const {
  const std::int64_t wait_ps = busy_until_ps_ - now.ns * kPsPerNs;
  return wait_ps > 0 ? static_cast<std::uint64_t>(wait_ps / byte_ps_) : 0;
}

void Link::damage(Datagram& packet) {
  ZHINU_ASSERT(packet.size > 0);
  ++counters_.corrupted;
  if (prng_.below(8) == 0) {
    packet.size = static_cast<std::uint32_t>(prng_.between(1, packet.size));
    return;
  }
  for (std::uint64_t flips = prng_.between(1, kFlippedBitsMax); flips > 0; --flips) {
    const std::uint64_t bit = prng_.below(std::uint64_t{packet.size} * 8);
    packet.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

}  // namespace zhinu::sim

// One directed link: a queue with a limit, a rate, a propagation delay, and faults.
//
// The queue is first-in first-out, so when a packet will have left is known when it
// enters: one event per packet and link. Time inside is in picoseconds, as a byte at
// 400 Gbit/s takes 20 of them. Thread rule: one owner at a time.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "base/time.h"
#include "sim/net/packet_pool.h"

namespace zhinu::sim {

struct LinkOptions {
  std::uint64_t rate_bits_per_s = 10'000'000'000;
  Duration delay = microseconds(2);
  std::uint64_t queue_bytes = 256 * 1024;  // tail drop above
  std::uint64_t ecn_bytes = 64 * 1024;     // packets that find more queued are marked
};

// Probabilities are per million packets. The default is a healthy link.
struct LinkFaults {
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t corrupt_ppm = 0;  // some bits are flipped, or the end is missing
  std::uint32_t reorder_ppm = 0;  // delayed by up to `reorder_delay`, overtaken by others
  Duration reorder_delay{};
  Duration extra_delay{};
  std::uint32_t rate_per_mille = 1'000;  // of the link's rate
  bool clogged = false;                  // nothing moves, nothing is dropped but at the limit
  bool cut = false;                      // everything is dropped

  friend bool operator==(const LinkFaults&, const LinkFaults&) = default;
};

struct LinkCounters {
  std::uint64_t forwarded = 0;
  std::uint64_t bytes = 0;
  std::uint64_t marked = 0;
  std::uint64_t queue_full = 0;  // dropped at the limit
  std::uint64_t cut = 0;         // dropped, cut
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t reordered = 0;
};

class Link {
 public:
  Link(const LinkOptions& options, std::uint64_t seed, std::uint64_t entity);

  enum class Fate : std::uint8_t { kForwarded, kDropped, kStuck };
  struct Verdict {
    Fate fate = Fate::kDropped;
    Instant arrives_at;      // at the far end, if forwarded
    bool duplicate = false;  // the caller sends a copy through `forward` as well
  };

  // Takes a packet into the queue, which may mark it or damage its bytes.
  // kStuck: the link is clogged; the caller hands the packet to `hold`.
  Verdict offer(Instant now, Datagram& packet);
  // Queue, rate and delay only, without the dice of the faults.
  Verdict forward(Instant now, Datagram& packet);

  // The packets of a clogged link, in order of arrival.
  void hold(PacketPool& pool, PacketId id);
  PacketId take_held(PacketPool& pool);

  const LinkOptions& options() const { return options_; }
  const LinkFaults& faults() const { return faults_; }
  void set_faults(const LinkFaults& faults);
  void set_rate(std::uint64_t bits_per_s);
  void set_delay(Duration delay) { options_.delay = delay; }
  const LinkCounters& counters() const { return counters_; }
  std::uint64_t queued_bytes(Instant now) const;

 private:
  void damage(Datagram& packet);

  LinkOptions options_;
  LinkFaults faults_;
  std::int64_t byte_ps_ = 0;
  std::int64_t busy_until_ps_ = 0;
  PacketId held_head_;
  PacketId held_tail_;
  std::uint64_t held_bytes_ = 0;
  Prng prng_;
  LinkCounters counters_;
};

}  // namespace zhinu::sim

// The regions of a run: their memory and keys, the slots that writes fill, and the
// notifications that must follow.
//
// A slot is what writes to one (region, offset) share: they are posted one after the
// other, each when the one before has ended and its notification was seen, so that
// the contents are always known; and never again after a write that ended badly. Thread rule: one
// owner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/endpoint.h"
#include "sim/check/content.h"
#include "sim/check/history.h"
#include "sim/check/items.h"
#include "sim/check/memory.h"
#include "sim/check/scenario.h"
#include "sim/check/streams.h"
#include "sim/check/wire_watch.h"

namespace zhinu::sim::check {

class Regions {
 public:
  // All outlive the regions.
  Regions(const Scenario& scenario, Memory& memory, WireWatch& watch);

  // Registers what `node` offers, with fresh memory: at each start of the node.
  void register_all(std::uint32_t node, core::Endpoint& endpoint);
  // The endpoint of `node` is gone, and its registrations with it.
  void on_stop(std::uint32_t node);
  Status revoke(Instant now, std::uint32_t region_index, core::Endpoint& endpoint);
  bool registered(std::uint32_t region_index) const { return states_[region_index].registered; }

  core::RegionKey key(std::uint32_t access) const { return states_[home_[access]].key; }
  // kBusy: another write of the slot is under way. kDead: one ended badly.
  enum class SlotState : std::uint8_t { kFree, kBusy, kDead };
  SlotState slot_state(std::uint32_t access) const;
  void on_posted(std::uint32_t access);

  // The node that posted it restarted.
  void on_lost(std::uint32_t access);
  // The write or read ended; a read's bytes lie in `read_into`.
  std::optional<Streams::Wrong> on_completion(std::uint32_t access, Errc status,
                                              ByteSpan read_into);
  // `source` is the node that wrote.
  std::optional<Streams::Wrong> on_notification(std::uint32_t node, std::uint32_t source,
                                                const core::Event& event, const Item* item);

  // At the end: contents of all slots and of all memory that was revoked, and whether
  // each successful write that asked for a notification got it.
  std::optional<Streams::Wrong> final_check(const std::vector<Item>& accesses,
                                            const History& history) const;

 private:
  struct RegionState {
    BufferId buffer;
    core::RegionKey key;
    std::uint32_t registrations = 0;
    bool registered = false;
  };
  // Memory that the core must not touch any more.
  struct Retired {
    BufferId buffer;
    std::uint64_t hash = 0;
    std::uint32_t region = 0;
  };
  static constexpr std::uint32_t kNobody = 0xffff'ffffU;
  struct Slot {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
    std::uint32_t holder = kNobody;  // access that fills it
    bool dead = false;
  };
  struct AccessState {
    std::uint32_t slot = 0;
    std::uint32_t registration = 0;  // of the region when it was posted
    std::uint32_t posted = 0;        // order among all accesses
    bool notified = false;
    bool filled = false;  // it is the last that filled its slot
  };
  // Ordered notifications from one node to another in one class, on one communicator.
  struct Order {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    TrafficClass traffic_class = TrafficClass::kControl;
    std::uint32_t communicator = 0;
    std::uint32_t last = 0;  // AccessState::posted
  };

  void retire(std::uint32_t region_index);
  bool current(std::uint32_t access) const;
  ByteSpan slot_bytes(std::uint32_t access) const;
  std::size_t wrong_byte(std::uint32_t access) const;
  std::optional<Streams::Wrong> keep_order(std::uint32_t access, std::uint32_t node);

  const Scenario& scenario_;
  Memory& memory_;
  WireWatch& watch_;
  std::vector<RegionState> states_;  // by index in the scenario
  std::vector<std::uint32_t> home_;  // region index of each access
  std::vector<Slot> slots_;
  std::vector<AccessState> accesses_;
  std::vector<Retired> retired_;
  std::vector<Order> orders_;
  std::uint32_t posted_ = 0;
};

// Names of contents, apart from those of messages.
constexpr std::uint64_t access_content(std::uint64_t seed, std::uint32_t access_id) {
  return content_key(seed, 1ULL << 32 | access_id);
}
constexpr std::uint64_t region_content(std::uint64_t seed, std::uint32_t region_id) {
  return content_key(seed, 2ULL << 32 | region_id);
}

}  // namespace zhinu::sim::check

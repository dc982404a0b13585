// What the modules of one endpoint share: pools, tables, counters, results.
//
// Internal to src/core. The modules (messages out, messages in, grants, loss
// recovery, connections, packet assembly) each hold a reference to one State and
// to the modules they call. Thread rule: the endpoint's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/block_pool.h"
#include "core/communicator.h"
#include "core/counters.h"
#include "core/deadline_wheel.h"
#include "core/endpoint.h"
#include "core/index_table.h"
#include "core/options.h"
#include "core/peer.h"
#include "core/records.h"
#include "core/region_table.h"
#include "core/timer_heap.h"

namespace zhinu::core {

class State {
 public:
  State(const EndpointOptions& options, const Identity& identity, Entropy& entropy,
        Misbehaviour* misbehaviour);

  // Peers and flows.
  bool has_peer(PeerId peer) const { return peer.value < peers.size(); }
  Peer& peer(PeerId peer) { return *peers[peer.value]; }
  Flow& flow(FlowId id) { return peers[peer_of(id).value]->flow(class_of(id)); }
  Communicator* communicator(std::uint16_t id) {
    const auto& page = communicator_pages[id >> 8];
    return page ? (*page)[id & 0xff].get() : nullptr;
  }

  // Pools that answer as full when misbehaving. kNoSlot when full.
  // Some records are there only for what peers ask for, so that what is posted here and waits
  // for them cannot keep their reads from being answered, nor their writes out.
  static constexpr std::uint32_t kPeersShare = 16;
  std::uint32_t acquire_send(bool for_peer = false) {
    if (pool_fails() || sends.available() <= (for_peer ? 0 : kPeersShare)) return kNoSlot;
    const std::uint32_t slot = sends.acquire_raw();
    sends[slot].reset();
    return slot;
  }
  std::uint32_t acquire_receive(bool for_peer = false) {
    if (pool_fails() || receives.available() <= (for_peer ? 0 : kPeersShare)) return kNoSlot;
    const std::uint32_t slot = receives.acquire_raw();
    receives[slot].reset();
    return slot;
  }
  std::uint32_t acquire_unexpected(bool announced);
  void release_unexpected(std::uint32_t slot);

  // The channel of (flow, communicator), made when missing; kNoSlot when the pool is full.
  std::uint32_t channel_of(FlowId flow, Communicator& communicator) {
    const std::uint32_t cached = communicator.cached_channel;
    if (cached != kNoSlot && channels[cached].flow == flow &&
        channels[cached].communicator == communicator.id.value) {
      return cached;
    }
    return communicator.cached_channel = look_up_channel(flow, communicator.id.value, false);
  }
  std::uint32_t channel_of(FlowId flow, std::uint16_t communicator, bool for_peer = false) {
    Communicator* owner = for_peer ? nullptr : this->communicator(communicator);
    return owner != nullptr ? channel_of(flow, *owner)
                            : look_up_channel(flow, communicator, for_peer);
  }
  std::uint32_t find_channel(FlowId flow, std::uint16_t communicator) const {
    return channel_index.find(channel_key(flow, communicator));
  }
  // The communicator is gone: its channels may be evicted once nothing is under way.
  void release_channels_of(std::uint16_t communicator);
  // The peer's session is over and nothing is queued: its channels start over.
  void forget_channels_of(PeerId peer);

  // Incoming granted messages and announcements by (flow, number). The high bit of the
  // value tells an Unexpected slot from a ReceiveRecord slot.
  static constexpr std::uint32_t kUnexpectedBit = 0x80000000U;
  static std::uint64_t incoming_key(FlowId flow, std::uint64_t number) {
    return (static_cast<std::uint64_t>(flow.value) << 44) | (number & ((1ULL << 44) - 1));
  }

  // Results. Exactly one per item with a user; the record ends.
  void complete_send(std::uint32_t slot, Errc status);
  void complete_receive(std::uint32_t slot, Errc status, std::uint64_t bytes);
  // Releases an ended record that neither user nor packets need.
  void try_release_send(std::uint32_t slot);
  void try_release_receive(std::uint32_t slot);
  std::size_t poll_completions(std::span<Completion> out);

  // Events. Notices are dropped and counted when the ring is full; notifications check first.
  bool events_full() const { return event_count_ == events_.size(); }
  void push_event(const Event& event);
  bool poll_event(Event& out);

  // What arrives may not take the last records: what is ended here needs them.
  bool has_room_for_refusal() const { return refusals.available() > refusals_reserve_; }

  // Segment maps for incoming granted messages. kNoSlot when all are used.
  std::uint32_t acquire_map();
  void release_map(std::uint32_t slot);
  std::span<std::uint64_t> map_words_of(std::uint32_t slot) {
    return std::span(map_words_).subspan(slot * words_per_map_, words_per_map_);
  }

  // Something of the peer changed that may move its timer.
  void touch_timer(Peer& peer) {
    if (peer.timer_dirty) return;
    peer.timer_dirty = true;
    dirty_timers.push_back(peer.id.value);
  }
  // The peer has control frames to send now.
  void want_control(Peer& peer);

  EndpointOptions options;
  Identity identity;
  Entropy& entropy;
  Misbehaviour* misbehaviour;
  Counters counters;

  SlotPool<SendRecord> sends;
  SlotPool<ReceiveRecord> receives;
  SlotPool<SentPacket> sent_packets;
  SlotPool<Channel> channels;
  SlotPool<Unexpected> unexpected;
  SlotPool<Refusal> refusals;
  BlockPool held;
  IndexTable channel_index;
  IndexTable incoming_index;
  RegionTable regions;
  DeadlineWheel send_deadlines;
  DeadlineWheel receive_deadlines;

  std::vector<std::unique_ptr<Peer>> peers;
  using CommunicatorPage = std::array<std::unique_ptr<Communicator>, 256>;
  std::array<std::unique_ptr<CommunicatorPage>, 256> communicator_pages;
  std::uint32_t communicator_count = 0;
  std::uint32_t reserves = 0;  // of communicators, in `held`
  Communicator* aborted_head = nullptr;
  std::uint8_t arriving_path = 0;  // in path of the packet at hand
  UnexpectedList orphans;          // messages whose communicator does not exist yet

  // Rings of work, served by the assembler.
  struct FlowRing {
    FlowId head;
    FlowId tail;
    std::int64_t deficit_bytes = 0;
  };
  std::array<FlowRing, kTrafficClasses> rings;
  std::uint32_t flows_in_rings = 0;
  PeerId control_head;
  PeerId control_tail;

  TimerHeap timers;
  std::vector<std::uint32_t> dirty_timers;  // capacity peers_max

 private:
  static std::uint64_t channel_key(FlowId flow, std::uint16_t communicator) {
    return (static_cast<std::uint64_t>(flow.value) << 16) | communicator;
  }
  bool pool_fails() { return misbehaviour != nullptr && misbehaviour->full_pool(); }
  void poll_receive(std::uint32_t slot, Completion& out);
  void poll_send(std::uint32_t slot, Completion& out);
  std::uint32_t look_up_channel(FlowId flow, std::uint16_t communicator, bool for_peer);
  void finish(std::uint32_t slot, bool receives_pool);
  bool channel_is_idle(const Channel& channel);
  std::uint32_t evict_channel();

  std::vector<std::uint64_t> map_words_;
  std::vector<std::uint32_t> free_maps_;
  std::uint32_t words_per_map_ = 0;
  std::uint32_t refusals_reserve_ = 0;
  std::uint32_t held_unexpected_ = 0;  // unexpected records that hold bytes
  std::uint32_t evict_hand_ = 0;

  // Results in order of decision: slots, the high bit marks the receive pool.
  static constexpr std::uint32_t kReceiveBit = 0x80000000U;
  std::uint32_t done_head_ = kNoSlot;
  std::uint32_t done_tail_ = kNoSlot;

  std::vector<Event> events_;
  std::size_t event_head_ = 0;
  std::size_t event_count_ = 0;
};

}  // namespace zhinu::core

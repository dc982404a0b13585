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
#include "core/in_path_pool.h"
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
    std::uint32_t slot = kNoSlot;
    static_cast<void>(acquire_send(slot, for_peer));
    return slot;
  }
  SendRecord* acquire_send(std::uint32_t& slot, bool for_peer = false) {
    return acquire(sends, slot, for_peer);
  }
  std::uint32_t acquire_receive(bool for_peer = false) {
    std::uint32_t slot = kNoSlot;
    static_cast<void>(acquire_receive(slot, for_peer));
    return slot;
  }
  ReceiveRecord* acquire_receive(std::uint32_t& slot, bool for_peer = false) {
    return acquire(receives, slot, for_peer);
  }
  std::uint32_t acquire_unexpected(bool announced);
  void release_unexpected(std::uint32_t slot);

  // The channel of (flow, communicator), made when missing; null when the pool is full.
  Channel* channel_of(FlowId flow, Communicator& communicator) {
    Channel* const cached = communicator.cached_channel;
    if (cached != nullptr && cached->flow == flow &&
        cached->communicator == communicator.id.value) {
      return cached;
    }
    const std::uint32_t slot = channel_of(flow, communicator.id.value);
    return communicator.cached_channel = slot == kNoSlot ? nullptr : &channels[slot];
  }
  // The same by slot; kNoSlot when the pool is full.
  std::uint32_t channel_of(FlowId flow, std::uint16_t communicator, bool for_peer = false);
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
  void complete_send(std::uint32_t slot, Errc status) { complete_send(slot, sends[slot], status); }
  void complete_receive(std::uint32_t slot, Errc status, std::uint64_t bytes) {
    complete_receive(slot, receives[slot], status, bytes);
  }
  // `record` is that of the slot, where the caller has it at hand.
  void complete_send(std::uint32_t slot, SendRecord& record, Errc status) {
    ZHINU_ASSERT(record.state != SendState::kEnded);
    ZHINU_ASSERT(record.state != SendState::kFree);
    record.state = SendState::kEnded;
    record.status = status;
    if (record.has_deadline) send_deadlines.remove(slot);
    if (record.has_user) {
      push_done(slot);
    } else {
      try_release_send(slot, record);
    }
  }
  [[gnu::always_inline]] void complete_receive(std::uint32_t slot, ReceiveRecord& record,
                                               Errc status, std::uint64_t bytes) {
    ZHINU_ASSERT(record.state != ReceiveState::kEnded);
    ZHINU_ASSERT(record.state != ReceiveState::kFree);
    record.state = ReceiveState::kEnded;
    record.status = status;
    record.capacity = bytes;
    if (record.has_deadline) receive_deadlines.remove(slot);
    if (record.has_user) {
      push_done(slot | kReceiveBit);
    } else {
      record.state = ReceiveState::kFree;
      receives.release(slot, record);
    }
  }
  // Releases an ended record that neither user nor packets need.
  void try_release_send(std::uint32_t slot) { try_release_send(slot, sends[slot]); }
  void try_release_send(std::uint32_t slot, SendRecord& record) {
    if (record.state != SendState::kEnded || record.references > 0 || record.cancel_pending) return;
    if (record.has_user && !record.polled) return;
    release_send(slot, record);
  }
  void release_send(std::uint32_t slot, SendRecord& record) {
    ZHINU_ASSERT(!record.in_bulk);
    record.state = SendState::kFree;
    sends.release(slot, record);
  }
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

  // Something of the peer changed that may move its timer to an earlier instant. What only moves
  // it to a later one, as packets do by the dozen, need not say so: it fires for nothing then.
  void touch_timer(Peer& peer) {
    if (peer.timer_dirty) return;
    peer.timer_dirty = true;
    dirty_timers.push_back(peer.id.value);
  }
  // The peer has control frames to send now.
  void want_control(Peer& peer);
  // Of all pools, tables and rings.
  std::size_t memory_bytes() const;

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
  InPathPool in_paths;
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
  template <class Record>
  Record* acquire(SlotPool<Record>& pool, std::uint32_t& slot, bool for_peer) {
    if (pool_fails() || pool.available() <= (for_peer ? 0 : kPeersShare)) return nullptr;
    Record* const record = pool.acquire_raw(slot);
    if (record != nullptr) record->reset();
    return record;
  }
  bool pool_fails() { return misbehaviour != nullptr && misbehaviour->full_pool(); }
  void poll_receive(std::uint32_t slot, Completion& out);
  void poll_send(std::uint32_t slot, Completion& out);
  void push_done(std::uint32_t entry) { done_[done_tail_++ & done_mask_] = entry; }
  bool channel_is_idle(const Channel& channel);
  std::uint32_t evict_channel();

  std::vector<std::uint64_t> map_words_;
  std::vector<std::uint32_t> free_maps_;
  std::uint32_t words_per_map_ = 0;
  std::uint32_t refusals_reserve_ = 0;
  std::uint32_t held_unexpected_ = 0;  // unexpected records that hold bytes
  std::uint32_t evict_hand_ = 0;

  // Results in order of decision: a ring of slots with a place for every record. The high bit
  // marks the receive pool.
  static constexpr std::uint32_t kReceiveBit = 0x80000000U;
  std::unique_ptr<std::uint32_t[]> done_;
  std::uint32_t done_mask_ = 0;
  std::uint32_t done_head_ = 0;  // both count on, modulo 2^32
  std::uint32_t done_tail_ = 0;

  std::vector<Event> events_;
  std::size_t event_head_ = 0;
  std::size_t event_count_ = 0;
};

}  // namespace zhinu::core

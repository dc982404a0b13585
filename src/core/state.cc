#include "core/state.h"

#include <algorithm>
#include <bit>

namespace zhinu::core {

namespace {

// Channels looked at per eviction attempt: bounds the cost of a post with a full pool.
constexpr std::uint32_t kEvictScanMax = 64;

std::uint32_t words_of(const EndpointOptions& options) {
  const std::uint64_t units = options.message_span_bytes / wire::kSegmentUnitBytes;
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::uint64_t>(units / 64, 1)));
}

// Every message that was announced here can be ended here, however many packets were refused.
std::uint32_t refusals_reserve(const EndpointOptions& options) {
  return options.receives_max + options.channels_max * options.announced_max;
}

// At least all that one packet may cause: it would come again and again.
std::uint32_t refusals_max(const EndpointOptions& options) {
  return std::max(options.refusals_max, kRefusalsPerPeerMax) + refusals_reserve(options);
}

// Announcements have slots of their own, enough for every channel, so that held
// messages can never keep another communicator's announcement out.
std::uint32_t unexpected_max(const EndpointOptions& options) {
  return options.held_blocks_max + options.channels_max * options.announced_max;
}

// Without any of these nothing would ever be sent, or nothing large.
void assert_possible(const EndpointOptions& options) {
  for (std::size_t i = 1; i < kTrafficClasses; ++i) ZHINU_ASSERT(options.class_weights[i] > 0);
  ZHINU_ASSERT(options.sent_packets_max >= kSentPacketsMin);
  ZHINU_ASSERT(options.channels_max > 0);
  ZHINU_ASSERT(options.announced_max > 0);
  ZHINU_ASSERT(options.segment_maps_max > 0);
  ZHINU_ASSERT(options.train_bytes > 0);
  ZHINU_ASSERT(options.paths_max > 0);
  ZHINU_ASSERT(options.paths_max <= PathTable::kPathsMax);
  ZHINU_ASSERT(options.packet_bytes_max >= kPacketBytesMin);
}

}  // namespace

State::State(const EndpointOptions& options_in, const Identity& identity_in, Entropy& entropy_in,
             Misbehaviour* misbehaviour_in)
    : options(options_in),
      identity(identity_in),
      entropy(entropy_in),
      misbehaviour(misbehaviour_in),
      sends(options.sends_max + kPeersShare),
      receives(options.receives_max + kPeersShare),
      sent_packets(options.sent_packets_max),
      channels(options.channels_max + kPeersShare),
      unexpected(unexpected_max(options)),
      refusals(refusals_max(options)),
      held(options.held_blocks_max),
      channel_index(channels.capacity()),
      incoming_index(unexpected.capacity() + receives.capacity()),
      in_paths(options.peers_max, options.in_paths_max),
      regions(options.regions_max),
      send_deadlines(sends.capacity()),
      receive_deadlines(receives.capacity()),
      words_per_map_(words_of(options)),
      refusals_reserve_(refusals_reserve(options)) {
  assert_possible(options);
  map_words_.resize(static_cast<std::size_t>(words_per_map_) * options.segment_maps_max);
  free_maps_.reserve(options.segment_maps_max);
  for (std::uint32_t i = options.segment_maps_max; i > 0; --i) free_maps_.push_back(i - 1);
  events_.resize(options.events_max);
  done_mask_ = std::bit_ceil(sends.capacity() + receives.capacity()) - 1;
  done_ = std::make_unique<std::uint32_t[]>(done_mask_ + 1);
  peers.reserve(options.peers_max);
  dirty_timers.reserve(options.peers_max);
}

std::uint32_t State::acquire_unexpected(bool announced) {
  if (pool_fails()) return kNoSlot;
  if (!announced && held_unexpected_ >= options.held_blocks_max) return kNoSlot;
  const std::uint32_t slot = unexpected.acquire();
  if (slot != kNoSlot) {
    unexpected[slot].announced = announced;
    if (!announced) ++held_unexpected_;
  }
  return slot;
}

void State::release_unexpected(std::uint32_t slot) {
  if (!unexpected[slot].announced) {
    ZHINU_ASSERT(held_unexpected_ > 0);
    --held_unexpected_;
  }
  unexpected[slot].flow = FlowId::none();
  unexpected.release(slot);
}

// Credit is a hint: who forgets it announces first, who believes too much hears "not held".
bool State::channel_is_idle(const Channel& channel) {
  if (channel.records > 0 || channel.has_queued() || channel.in_ring) return false;
  if (channel.in_credit_queue) return false;
  // What follows in the channel must say behind what it comes, until all up to that is taken or
  // void.
  const std::uint64_t floor = flow(channel.flow).outgoing.floor();
  return !(channel.has_last && channel.last_number >= floor) &&
         !(channel.has_ordered && channel.last_ordered >= floor);
}

std::uint32_t State::evict_channel() {
  const std::uint32_t scan = std::min(kEvictScanMax, channels.capacity());
  for (std::uint32_t i = 0; i < scan; ++i) {
    evict_hand_ = evict_hand_ + 1 < channels.capacity() ? evict_hand_ + 1 : 0;
    Channel& channel = channels[evict_hand_];
    if (channel.flow.is_none() || !channel_is_idle(channel)) continue;
    channel_index.erase(channel_key(channel.flow, channel.communicator));
    channel.flow = FlowId::none();
    channels.release(evict_hand_);
    return channels.acquire();
  }
  return kNoSlot;
}

std::uint32_t State::channel_of(FlowId flow, std::uint16_t communicator, bool for_peer) {
  std::uint32_t slot = channel_index.find(channel_key(flow, communicator));
  if (slot != kNoSlot) return slot;
  if (pool_fails()) return kNoSlot;
  if (channels.available() > (for_peer ? 0 : kPeersShare)) slot = channels.acquire();
  if (slot == kNoSlot) slot = evict_channel();
  if (slot == kNoSlot) return kNoSlot;
  channels[slot].slot = slot;
  channels[slot].flow = flow;
  channels[slot].communicator = communicator;
  channel_index.insert(channel_key(flow, communicator), slot);
  return slot;
}

void State::release_channels_of(std::uint16_t communicator) {
  for (std::uint32_t slot = 0; slot < channels.capacity(); ++slot) {
    Channel& channel = channels[slot];
    if (channel.flow.is_none() || channel.communicator != communicator) continue;
    channel.credit_given = 0;
    channel.credit_received = 0;
    channel.messages_sent = 0;
  }
}

void State::forget_channels_of(PeerId peer) {
  for (std::uint32_t slot = 0; slot < channels.capacity(); ++slot) {
    Channel& channel = channels[slot];
    if (channel.flow.is_none() || peer_of(channel.flow) != peer) continue;
    ZHINU_ASSERT(!channel.has_queued());
    ZHINU_ASSERT(!channel.in_ring);
    ZHINU_ASSERT(!channel.has_announced());
    ZHINU_ASSERT(!channel.in_credit_queue);
    channel_index.erase(channel_key(channel.flow, channel.communicator));
    channel.flow = FlowId::none();
    channels.release(slot);
  }
}

void State::poll_receive(std::uint32_t slot, Completion& out) {
  ReceiveRecord& record = receives[slot];
  const bool mismatch = record.status == Errc::kDigestMismatch;
  out = Completion{
      .operation = {slot, record.generation, true},
      .kind = record.kind == ReceiveKind::kRead ? OperationKind::kRead : OperationKind::kReceive,
      .status = record.status,
      .user = record.user,
      .bytes = record.capacity,
      .peer = record.peer,
      .tag = record.tag,
      .own_digest = record.digest,
      .peer_digest = mismatch ? record.peer_digest : record.digest};
  record.state = ReceiveState::kFree;
  receives.release(slot, record);
}

void State::poll_send(std::uint32_t slot, Completion& out) {
  SendRecord& record = sends[slot];
  out = Completion{
      .operation = {slot, record.generation, false},
      .kind = record.kind == SendKind::kWrite ? OperationKind::kWrite : OperationKind::kSend,
      .status = record.status,
      .user = record.user,
      .bytes = record.status == Errc::kOk ? record.length : 0,
      .peer = peer_of(record.flow),
      .tag = record.tag,
      .own_digest = record.digest,
      .peer_digest = record.digest};
  record.polled = true;
  if (record.references == 0 && !record.cancel_pending) release_send(slot, record);
}

std::size_t State::poll_completions(std::span<Completion> out) {
  if (done_head_ == done_tail_) return 0;
  if (misbehaviour != nullptr && misbehaviour->late_completion()) return 0;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), done_tail_ - done_head_));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t entry = done_[(done_head_ + i) & done_mask_];
    if ((entry & kReceiveBit) != 0) {
      poll_receive(entry & ~kReceiveBit, out[i]);
    } else {
      poll_send(entry, out[i]);
    }
  }
  done_head_ += count;
  return count;
}

void State::push_event(const Event& event) {
  if (events_full()) {
    counters.add(Counter::kDropEvents);
    return;
  }
  std::size_t at = event_head_ + event_count_;
  if (at >= events_.size()) at -= events_.size();
  events_[at] = event;
  ++event_count_;
}

bool State::poll_event(Event& out) {
  if (event_count_ == 0) return false;
  out = events_[event_head_];
  event_head_ = event_head_ + 1 < events_.size() ? event_head_ + 1 : 0;
  --event_count_;
  return true;
}

std::uint32_t State::acquire_map() {
  // Who waits for a map is served when one is released, so only a pool in use may fail.
  const bool in_use = free_maps_.size() < free_maps_.capacity();
  if (free_maps_.empty() || (in_use && pool_fails())) return kNoSlot;
  const std::uint32_t slot = free_maps_.back();
  free_maps_.pop_back();
  return slot;
}

void State::release_map(std::uint32_t slot) {
  const auto words = map_words_of(slot);
  std::fill(words.begin(), words.end(), 0);
  ZHINU_ASSERT(free_maps_.size() < free_maps_.capacity());
  free_maps_.push_back(slot);
}

void State::want_control(Peer& peer) {
  if (peer.in_control_ring) return;
  peer.in_control_ring = true;
  peer.control_ring_next = PeerId::none();
  if (control_tail.is_none()) {
    control_head = peer.id;
  } else {
    this->peer(control_tail).control_ring_next = peer.id;
  }
  control_tail = peer.id;
}

std::size_t State::memory_bytes() const {
  const auto held_by = [](const auto& items) { return items.capacity() * sizeof(items[0]); };
  const std::size_t done_slots = std::size_t{done_mask_} + 1;
  return sends.memory_bytes() + receives.memory_bytes() + sent_packets.memory_bytes() +
         channels.memory_bytes() + unexpected.memory_bytes() + refusals.memory_bytes() +
         held.memory_bytes() + channel_index.memory_bytes() + incoming_index.memory_bytes() +
         in_paths.memory_bytes() + regions.memory_bytes() + send_deadlines.memory_bytes() +
         receive_deadlines.memory_bytes() + timers.memory_bytes() + held_by(peers) +
         held_by(dirty_timers) + held_by(map_words_) + held_by(free_maps_) + held_by(events_) +
         done_slots * sizeof(std::uint32_t);
}

}  // namespace zhinu::core

// Posts, ends, and the frames by which the peer steers what leaves. Filling of
// packets is in outgoing_fill.cc, their outcomes in outgoing_fate.cc.
#include "core/outgoing.h"

#include <algorithm>

namespace zhinu::core {

namespace {

// Bytes a channel may send before the next one has its turn.
constexpr std::uint32_t kChannelQuantumBytes = 9'216;
// First wait of a lane that the peer had no room for: a few round trips.
constexpr Duration kRetryFirst = microseconds(100);

}  // namespace

std::uint32_t Outgoing::enqueue(FlowId id, std::uint16_t communicator, std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  const std::uint32_t channel =
      state_.channel_of(id, communicator, record.kind == SendKind::kReadAnswer);
  if (channel == kNoSlot) {
    state_.sends.release(slot);
    return kNoSlot;
  }
  enqueue(state_.flow(id), id, state_.channels[channel], slot, record);
  return slot;
}

std::uint32_t Outgoing::post_write(const WriteArgs& args) {
  const std::uint32_t slot = state_.acquire_send();
  if (slot == kNoSlot) return kNoSlot;
  SendRecord& record = state_.sends[slot];
  record.open_transfer();
  record.kind = SendKind::kWrite;
  record.notify = args.notify;
  record.ordered = args.notify && args.ordered;
  record.data = args.data.data();
  record.length = args.data.size();
  record.region_key = args.region.value;
  record.region_offset = args.offset;
  record.immediate = args.immediate;
  record.user = args.user;
  return enqueue(flow_id(args.peer, args.traffic_class), args.communicator.value, slot);
}

std::uint32_t Outgoing::post_read_request(const ReadArgs& args, std::uint32_t receive) {
  const std::uint32_t slot = state_.acquire_send();
  if (slot == kNoSlot) return kNoSlot;
  SendRecord& record = state_.sends[slot];
  record.open_transfer();
  record.kind = SendKind::kReadRequest;
  record.has_user = false;
  record.length = args.buffer.size();
  record.region_key = args.region.value;
  record.region_offset = args.offset;
  record.read_slot = receive;
  return enqueue(flow_id(args.peer, args.traffic_class), args.communicator.value, slot);
}

bool Outgoing::post_read_answer(const ReadAnswer& answer) {
  const std::uint32_t slot = state_.acquire_send(true);
  if (slot == kNoSlot) return false;
  SendRecord& record = state_.sends[slot];
  record.open_transfer();
  record.kind = SendKind::kReadAnswer;
  record.has_user = false;
  record.data = answer.data.data();
  record.length = answer.data.size();
  record.region_key = answer.region_key;
  record.peer_token = answer.peer_token;
  record.read_number = answer.read_number;
  return enqueue(answer.flow, answer.communicator, slot) != kNoSlot;
}

void Outgoing::push_channel(Flow& flow, std::uint32_t channel_slot) {
  Channel& channel = state_.channels[channel_slot];
  if (channel.in_ring || !channel.has_ready()) return;
  channel.in_ring = true;
  channel.deficit_bytes += kChannelQuantumBytes;  // what a large message left over adds up
  flow.channels.push_back(state_.channels, channel_slot);
}

void Outgoing::enter_ring(FlowId id) {
  Flow& flow = state_.flow(id);
  if (!sendable(flow)) return;
  if (state_.peer(peer_of(id)).state != PeerState::kUp) return;
  State::FlowRing& ring = state_.rings[index_of(class_of(id))];
  flow.in_ring = true;
  ++state_.flows_in_rings;
  flow.ring_next = FlowId::none();
  flow.turn_bytes = state_.options.train_bytes;
  if (ring.tail.is_none()) {
    ring.head = id;
  } else {
    state_.flow(ring.tail).ring_next = id;
  }
  ring.tail = id;
}

bool Outgoing::sendable(const Flow& flow) const {
  if (flow.lost.empty() && flow.channels.empty() && flow.bulk.empty()) return false;
  return flow.window.room() > 0;
}

// What was sent found no buffer, some of it at least, and goes once more from the start: the
// peer drops what it has. To remember which segments were refused, a packet record for each
// would wait with the message, and without records nothing moves.
void Outgoing::begin_anew(SendRecord& record) {
  record.refused = false;
  record.sent = 0;
  record.acked = 0;
  ++record.round;
}

void Outgoing::push_bulk(std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  if (record.sent >= record.granted || record.in_bulk) return;
  record.in_bulk = true;
  state_.flow(record.flow).bulk.push_back(state_.sends, slot);
}

void Outgoing::release_announced(SendRecord& record) {
  if (!record.counts_announced) return;
  record.counts_announced = false;
  Channel& channel = state_.channels[record.channel];
  Lane& lane = channel.lane(record.kind);
  ZHINU_ASSERT(lane.announced > 0);
  --lane.announced;
  if (!channel.has_announced()) channel.credit_probe_at = Instant::never();
  push_channel(state_.flow(record.flow), record.channel);
  activate(record.flow);
}

void Outgoing::leave_transfer(std::uint32_t slot, SendRecord& record) {
  if (record.in_bulk) {
    record.in_bulk = false;
    state_.flow(record.flow).bulk.remove(state_.sends, slot);
  }
  release_announced(record);
}

// Ended records at the head of a queue do not stay until it is their channel's turn.
void Outgoing::drop_ended(Channel& channel) {
  for (Lane* lane : {static_cast<Lane*>(&channel), &channel.one_sided}) {
    while (!lane->queue.empty()) {
      const std::uint32_t slot = lane->queue.head;
      if (state_.sends[slot].state != SendState::kEnded) break;
      lane->queue.pop_front(state_.sends);
      --state_.sends[slot].references;
      state_.try_release_send(slot);
    }
  }
}

void Outgoing::queue_cancel(std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.state == SendState::kEnded);
  if (record.cancel_pending) return;
  record.open_transfer();
  record.cancel_pending = true;
  Peer& peer = state_.peer(peer_of(record.flow));
  peer.cancels.push_back(state_.sends, slot);
  state_.want_control(peer);
}

void Outgoing::end(std::uint32_t slot, Errc code) {
  SendRecord& record = state_.sends[slot];
  if (record.state == SendState::kEnded || record.state == SendState::kFree) return;
  // A number that the peer may wait for: it must hear that nothing more comes.
  const bool tell = record.has_number && record.state != SendState::kEager;
  // Held so that the record survives complete() until the cancel frame is queued.
  ++record.references;
  complete(slot, code);
  if (tell) queue_cancel(slot);
  Channel& channel = state_.channels[record.channel];
  --record.references;
  state_.try_release_send(slot);
  drop_ended(channel);
}

void Outgoing::drop_queue(Lane& lane, Errc code) {
  while (!lane.queue.empty()) {
    const std::uint32_t slot = lane.queue.pop_front(state_.sends);
    --state_.sends[slot].references;
    if (state_.sends[slot].state == SendState::kEnded) {
      state_.try_release_send(slot);
    } else {
      complete(slot, code);
    }
  }
}

// All packets of the peer were forgotten before; queues are emptied here.
void Outgoing::drop_peer(Peer& peer, Errc code) {
  for (std::uint32_t slot = 0; slot < state_.channels.capacity(); ++slot) {
    Channel& channel = state_.channels[slot];
    if (channel.flow.is_none() || peer_of(channel.flow) != peer.id) continue;
    drop_queue(channel, code);
    drop_queue(channel.one_sided, code);
  }
  for (std::uint32_t slot = 0; slot < state_.sends.capacity(); ++slot) {
    const SendRecord& record = state_.sends[slot];
    if (record.state == SendState::kFree || record.state == SendState::kEnded) continue;
    if (peer_of(record.flow) == peer.id) complete(slot, code);
  }
  for (Flow& flow : peer.flows) {
    while (!flow.channels.empty()) {
      state_.channels[flow.channels.pop_front(state_.channels)].in_ring = false;
    }
  }
}

void Outgoing::on_grant(FlowId flow, std::uint32_t token, std::uint32_t number,
                        std::uint64_t offset) {
  if (token >= state_.sends.capacity()) return state_.counters.add(Counter::kDropBadFrame);
  SendRecord& record = state_.sends[token];
  const bool fits = record.state == SendState::kAnnounced && record.flow == flow &&
                    static_cast<std::uint32_t>(record.number) == number;
  if (!fits) return;                        // of a message that has ended: late, not wrong
  if (record.failure != Errc::kOk) return;  // there are no bytes any more
  const bool whole = offset % wire::kSegmentUnitBytes == 0 || offset == record.length;
  if (offset > record.length || !whole) return state_.counters.add(Counter::kDropBadFrame);
  record.grant_came = true;
  state_.channels[record.channel].closed = false;
  release_announced(record);
  if (offset > record.granted) record.granted = offset;
  if (record.refused) begin_anew(record);
  push_bulk(token);
  activate(flow);
}

void Outgoing::on_refused(FlowId flow, std::uint32_t token, std::uint32_t number, Errc code) {
  if (token >= state_.sends.capacity()) return state_.counters.add(Counter::kDropBadFrame);
  SendRecord& record = state_.sends[token];
  if (record.flow != flow || static_cast<std::uint32_t>(record.number) != number) return;
  // Queued: one copy of its announcement found no room, and another one did.
  const bool waits = record.state == SendState::kAnnounced ||
                     (record.state == SendState::kQueued && record.has_number);
  if (!waits) return;
  // Whatever else is taken is acknowledged.
  if (code == Errc::kTaken && (record.kind != SendKind::kMessage || record.length > 0)) {
    return state_.counters.add(Counter::kDropBadFrame);
  }
  Channel& channel = state_.channels[record.channel];
  complete(token, code == Errc::kTaken ? Errc::kOk : code);
  drop_ended(channel);
}

void Outgoing::on_credit(FlowId flow, std::uint16_t communicator, std::uint64_t credit) {
  const std::uint32_t slot = state_.channel_of(flow, communicator);
  if (slot == kNoSlot) return;  // a hint only: without it messages ask first
  Channel& channel = state_.channels[slot];
  if (credit > channel.credit_received) channel.credit_received = credit;
}

// The peer may have taken all segments of a message after it had refused some, and the refusal
// came last. With the probe of its channel such a message is announced again: if it is complete
// over there, the peer answers with a grant, and the segments go once more.
void Outgoing::announce_again(Peer& peer) {
  std::uint32_t sent_slot = kNoSlot;
  for (std::uint32_t slot = 0; slot < state_.sends.capacity(); ++slot) {
    SendRecord& record = state_.sends[slot];
    if (record.state != SendState::kAnnounced || !record.counts_announced) continue;
    if (!record.announce_acked || peer_of(record.flow) != peer.id) continue;
    if (!record.refused) continue;
    if (!state_.channels[record.channel].probe_due) continue;
    sent_slot = state_.sent_packets.acquire();
    if (sent_slot == kNoSlot) return;
    SentPacket& again = state_.sent_packets[sent_slot];
    again.traffic_class = class_of(record.flow);
    again.item_count = 1;
    again.items[0].kind = SentKind::kAnnounce;
    again.items[0].slot = slot;
    ++record.references;
    state_.flow(record.flow).lost.push_back(state_.sent_packets, sent_slot);
    activate(record.flow);
  }
}

// The peer had no room for an announcement or a request: the lane waits, longer each time.
void Outgoing::pause(Instant now, SendRecord& record) {
  Channel& channel = state_.channels[record.channel];
  channel.lane(record.kind).paused = true;
  channel.retry_interval =
      channel.retry_interval == Duration{}
          ? kRetryFirst
          : std::min(channel.retry_interval * 2, state_.options.credit_probe_max);
  channel.retry_at = now + channel.retry_interval;
  Peer& peer = state_.peer(peer_of(record.flow));
  peer.credit_probe_at = std::min(peer.credit_probe_at, channel.retry_at);
  state_.touch_timer(peer);
}

void Outgoing::resume(std::uint32_t channel_slot) {
  Channel& channel = state_.channels[channel_slot];
  channel.retry_at = Instant::never();
  channel.paused = false;
  channel.one_sided.paused = false;
  push_channel(state_.flow(channel.flow), channel_slot);
  activate(channel.flow);
}

void Outgoing::check_credit_probes(Instant now, Peer& peer) {
  peer.credit_probe_at = Instant::never();
  bool due = false;
  for (std::uint32_t slot = 0; slot < state_.channels.capacity(); ++slot) {
    Channel& channel = state_.channels[slot];
    if (channel.flow.is_none() || peer_of(channel.flow) != peer.id) continue;
    if (channel.retry_at <= now) resume(slot);
    if (channel.credit_probe_at <= now) {
      ZHINU_ASSERT(channel.has_announced());
      channel.credit_probe_interval =
          std::min(channel.credit_probe_interval * 2, state_.options.credit_probe_max);
      channel.credit_probe_at = now + channel.credit_probe_interval;
      channel.probe_due = true;
      due = true;
      if (!channel.in_credit_queue) {
        channel.in_credit_queue = true;
        peer.credits.push_back(state_.channels, slot);
      }
      state_.want_control(peer);
    }
    peer.credit_probe_at =
        std::min({peer.credit_probe_at, channel.credit_probe_at, channel.retry_at});
  }
  if (due) announce_again(peer);
}

}  // namespace zhinu::core

// Messages on their way out: posts, queues, what goes into the next packet, and
// what the fate of a packet means for them.
//
// Internal to src/core. Small messages go whole; larger ones are announced, then
// sent as granted. Order of service in a flow: repeats, small messages and
// announcements by deficit round robin over communicators, then granted data.
// Thread rule: the endpoint's.
#pragma once

#include <array>
#include <cstdint>

#include "core/packet_builder.h"
#include "core/state.h"

namespace zhinu::core {

// Refusals that arrived in the same packet as the ACKs they belong to.
struct RefusedNumbers {
  struct Entry {
    TrafficClass traffic_class = TrafficClass::kControl;
    bool segments = false;  // of the message, and not the message or its announcement
    Errc code = Errc::kOk;
    std::uint32_t number = 0;  // low 32 bits
    std::uint32_t run = 1;     // so many numbers from there on
  };
  std::array<Entry, kRefusalsPerPeerMax> entries;
  std::uint32_t count = 0;
  Instant at;  // when the packet came

  // kOk if the message was taken.
  Errc find(TrafficClass traffic_class, std::uint64_t number, bool segments = false) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (static_cast<std::uint32_t>(number) - entries[i].number < entries[i].run &&
          entries[i].segments == segments && entries[i].traffic_class == traffic_class) {
        return entries[i].code;
      }
    }
    return Errc::kOk;
  }
};

class Outgoing {
 public:
  explicit Outgoing(State& state) : state_(state) {}

  // Posts. The arguments were validated; the peer and communicator exist. The slot, or
  // kNoSlot when a pool is full.
  std::uint32_t post_send(Peer& peer, Communicator& communicator, const SendArgs& args);
  std::uint32_t post_write(const WriteArgs& args);
  // The request of a read whose data goes to receive record `receive`.
  std::uint32_t post_read_request(const ReadArgs& args, std::uint32_t receive);
  struct ReadAnswer {
    FlowId flow;
    std::uint16_t communicator = 0;
    ByteSpan data;
    std::uint64_t region_key = 0;
    std::uint32_t peer_token = 0;
    std::uint32_t read_number = 0;
  };
  bool post_read_answer(const ReadAnswer& answer);  // false: the pool is full

  // Ends a record with `code`, whatever it is doing; tells the peer where it must know.
  void end(std::uint32_t slot, Errc code);

  // The peer's session is over: ends all its records with `code`, tells nobody.
  void drop_peer(Peer& peer, Errc code);
  // Ends an answer whose region is gone, so that its reader hears of it.
  void fail_answer(std::uint32_t slot, Errc code);

  // Adds repeats, messages and data of the flow to the packet.
  void fill(Instant now, Flow& flow, FlowId id, PacketBuilder& builder);
  // True if the flow has something to send and its window lets it.
  bool sendable(const Flow& flow) const;
  // Puts the flow in its class's ring if it has something to send.
  void activate(FlowId id) {
    if (!state_.flow(id).in_ring) enter_ring(id);
  }

  // Outcomes of what packets carried. `flow` is the one the packet was sent in. True if the
  // packet record was kept (a segment that waits for a buffer), else the caller releases it.
  bool on_acked(const SentItem& item, FlowId flow, SentPacket& sent, std::uint32_t sent_slot,
                const RefusedNumbers& refused);
  // Gives back the records of all lost packets of the flow: its messages go as if what was lost
  // had never been sent.
  void forget_lost(FlowId flow);
  // The peer is gone: releases a packet record, dropping what it refers to.
  void forget_packet(std::uint32_t sent_slot);
  void on_cancel_acked(std::uint32_t slot);
  void on_cancel_lost(std::uint32_t slot);

  // Frames from the peer. Numbers are the low 32 bits from the wire.
  void on_grant(FlowId flow, std::uint32_t token, std::uint32_t number, std::uint64_t offset);
  void on_refused(FlowId flow, std::uint32_t token, std::uint32_t number, Errc code);
  void on_credit(FlowId flow, std::uint16_t communicator, std::uint64_t credit);

  // Zero-window probes of the peer's channels that are due; sets the next instant.
  void check_credit_probes(Instant now, Peer& peer);

 private:
  std::uint32_t enqueue(FlowId flow, std::uint16_t communicator, std::uint32_t slot);
  void enqueue(Flow& flow, FlowId id, Channel& channel, std::uint32_t slot, SendRecord& record);
  void enter_ring(FlowId id);
  void push_channel(Flow& flow, std::uint32_t channel);
  void requeue_for_announce(std::uint32_t slot);
  void queue_cancel(std::uint32_t slot);
  void begin_anew(SendRecord& record);
  void forget_lost_message(std::uint32_t slot);
  void forget_lost_item(const SentItem& item);
  void push_bulk(std::uint32_t slot);
  void announce_again(Peer& peer);
  void release_announced(SendRecord& record);
  void complete(std::uint32_t slot, Errc code) { complete(slot, state_.sends[slot], code); }
  void complete(std::uint32_t slot, SendRecord& record, Errc code);
  void leave_transfer(std::uint32_t slot, SendRecord& record);
  void drop_ended(Channel& channel);
  void drop_queue(Lane& lane, Errc code);
  void pause(Instant now, SendRecord& record);
  void resume(std::uint32_t channel);
  void on_messages_acked(const SentItem& item, Flow& flow, const RefusedNumbers& refused);
  void on_announce_acked(std::uint32_t slot, Flow& flow, const RefusedNumbers& refused);
  bool on_segment_acked(const SentItem& item, SentPacket& sent, std::uint32_t sent_slot,
                        const RefusedNumbers& refused);
  void end_read_request(SendRecord& record, Errc code);
  void drop_unsent(std::uint32_t slot, Flow& flow);

  // Parts of fill(). Each returns false when the packet can take no more.
  bool fill_lost(Instant now, Flow& flow, FlowId id, PacketBuilder& builder);
  bool fill_lost_item(SentItem& item, PacketBuilder& builder);
  bool fill_channels(Instant now, Flow& flow, PacketBuilder& builder);
  enum class Step : std::uint8_t {
    kEmpty,        // nothing is queued any more
    kBlocked,      // as many announcements wait as the receiver remembers, or it had no room
    kFlowBlocked,  // the peer's window of message numbers is full
    kTurnEnded,    // its quantum is used up
    kPacketFull,
  };
  // Bounds of what a channel may send in its turn.
  struct Turn {
    std::uint64_t number_limit = 0;  // of the peer's window
    std::uint32_t packet_room = 0;   // of an empty packet of the path
    std::uint32_t eager_max = 0;     // the peer's limit
  };
  // Sends from one channel until its turn, its queues or the packet end.
  Step fill_from_channel(Instant now, Flow& flow, std::uint32_t channel, PacketBuilder& builder);
  Step fill_from_lane(Instant now, Flow& flow, Channel& channel, Lane& lane,
                      PacketBuilder& builder);
  // These send one message; kEmpty tells that there may be more.
  Step send_fresh(Flow& flow, Channel& channel, Lane& lane, std::uint32_t slot, SendRecord& record,
                  const Turn& turn, PacketBuilder& builder);
  Step send_next(Instant now, Flow& flow, Channel& channel, Lane& lane, const Turn& turn,
                 PacketBuilder& builder);
  Step after_eager(PacketBuilder& builder);
  void fill_bulk(Flow& flow, PacketBuilder& builder);
  // Bytes of its frame with payload when it goes whole.
  static std::uint64_t eager_bytes(const SendRecord& record) {
    return record.kind == SendKind::kMessage ? wire::kMessageFrameBytes + record.length
                                             : one_sided_bytes(record);
  }
  static std::uint64_t one_sided_bytes(const SendRecord& record);
  // Not for read requests, which are always whole.
  static wire::FrameKind announce_kind(const SendRecord& record) {
    ZHINU_ASSERT(record.kind != SendKind::kReadRequest);
    if (record.kind == SendKind::kWrite) return wire::FrameKind::kWrite;
    return record.kind == SendKind::kMessage ? wire::FrameKind::kAnnounce
                                             : wire::FrameKind::kReadAnnounce;
  }
  static std::uint32_t announce_bytes(const SendRecord& record) {
    return static_cast<std::uint32_t>(wire::bytes_of(announce_kind(record)));
  }
  static wire::Frame message_frame(const SendRecord& record);
  static void describe(const SendRecord& record, wire::Frame& frame);
  static void add_eager(std::uint32_t slot, SendRecord& record, PacketBuilder& builder);
  void add_announce(std::uint32_t slot, PacketBuilder& builder);
  void add_segment(std::uint32_t slot, std::uint64_t offset, std::uint32_t length,
                   PacketBuilder& builder);
  void assign_number(Flow& flow, Channel& channel, SendRecord& record);
  static void put_in_order(const Flow& flow, Channel& channel, SendRecord& record);
  void assign_one_sided(Channel& channel, SendRecord& record);
  void after_announce(Instant now, Channel& channel, std::uint32_t slot);
  static bool goes_eager(const SendRecord& record, const Channel& channel, const Turn& turn);

  State& state_;
};

// What every small message goes through, in the header so that it is inlined.

inline std::uint32_t Outgoing::post_send(Peer& peer, Communicator& communicator,
                                         const SendArgs& args) {
  const FlowId id = flow_id(peer.id, args.traffic_class);
  Channel* const channel = state_.channel_of(id, communicator);
  if (channel == nullptr) return kNoSlot;
  std::uint32_t slot = kNoSlot;
  SendRecord* const acquired = state_.acquire_send(slot);
  if (acquired == nullptr) return kNoSlot;
  SendRecord& record = *acquired;
  record.kind = SendKind::kMessage;
  record.tag = args.tag;
  record.digest = args.digest;
  record.data = args.data.data();
  record.length = args.data.size();
  record.user = args.user;
  enqueue(peer.flow(args.traffic_class), id, *channel, slot, record);
  return slot;
}

inline void Outgoing::enqueue(Flow& flow, FlowId id, Channel& channel, std::uint32_t slot,
                              SendRecord& record) {
  record.flow = id;
  record.communicator = channel.communicator;
  record.channel = channel.slot;
  record.state = SendState::kQueued;
  record.references = 1;  // the queue's
  ++channel.records;
  channel.lane(record.kind).queue.push_back(state_.sends, slot, record);
  if (!channel.in_ring) push_channel(flow, channel.slot);
  if (!flow.in_ring) enter_ring(id);
}

inline void Outgoing::complete(std::uint32_t slot, SendRecord& record, Errc code) {
  if (record.has_transfer) leave_transfer(slot, record);
  Channel& channel = state_.channels[record.channel];
  ZHINU_ASSERT(channel.records > 0);
  --channel.records;
  if (code == Errc::kOk) {
    channel.retry_interval = Duration{};
    if (record.kind != SendKind::kReadRequest) state_.counters.add(Counter::kMessagesSent);
  }
  state_.complete_send(slot, record, code);
}

}  // namespace zhinu::core

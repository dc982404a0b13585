// The records behind posted items, packets under way and messages that wait:
// everything that lives in the in-flight arena of an endpoint.
//
// Internal to src/core. Records refer to each other by pool slot. A record is
// released only when its user polled the completion and no packet refers to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/slot_pool.h"
#include "core/segment_map.h"
#include "core/slot_list.h"
#include "core/types.h"
#include "wire/packet.h"

namespace zhinu::core {

// A flow is (peer, class); its index is peer * 8 + class.
using FlowId = Id<struct FlowTag>;

constexpr FlowId flow_id(PeerId peer, TrafficClass traffic_class) {
  return {peer.value * 8 + static_cast<std::uint32_t>(traffic_class)};
}
constexpr PeerId peer_of(FlowId flow) { return {flow.value / 8}; }
constexpr TrafficClass class_of(FlowId flow) { return static_cast<TrafficClass>(flow.value % 8); }

// What a send record puts on the wire.
enum class SendKind : std::uint8_t { kMessage, kWrite, kReadRequest, kReadAnswer };

enum class SendState : std::uint8_t {
  kFree,
  kQueued,     // in its channel's queue: nothing is under way
  kEager,      // whole in a packet under way
  kAnnounced,  // announced; data follows as granted
  kEnded,      // result decided; waits for the user's poll, for packets or for a cancel frame
};

// What every posted send needs: what a small message touches.
struct SendBase {
  std::uint32_t next = kNoSlot;  // channel queue, or chain of the packet that carries it
  std::uint32_t generation = 0;
  SendKind kind = SendKind::kMessage;
  SendState state = SendState::kFree;
  std::uint8_t order = 0;
  bool has_number : 1 = false;
  // A completion is owed to the user. As most are: a bit that is set after a reset costs a stall.
  bool has_user : 1 = true;
  bool polled : 1 = false;  // and was polled
  bool has_deadline : 1 = false;
  bool has_transfer : 1 = false;     // the members of SendTransfer mean something
  bool announce_queued : 1 = false;  // refused as eager: must be announced
  bool announce_acked : 1 = false;
  bool grant_came : 1 = false;        // the peer has a buffer for it
  bool refused : 1 = false;           // segments found none: it begins anew when there is one
  bool counts_announced : 1 = false;  // counted in its channel's `announced`
  bool in_bulk : 1 = false;           // in its flow's bulk list
  bool cancel_pending : 1 = false;    // the peer must learn that the number is void
  bool notify : 1 = false;
  bool ordered : 1 = false;
  Errc status = Errc::kOk;
  Errc failure = Errc::kOk;  // read answer: its region was revoked; only this is told
  std::uint16_t communicator = 0;
  std::uint32_t channel = kNoSlot;
  FlowId flow;
  std::uint32_t tag = 0;
  std::uint32_t digest = 0;
  std::uint32_t references = 0;  // queue, packets under way or lost that name this record
};

// What every post sets, and nothing else needs to clear. With the base up to `number` it is the
// one cache line that a small message touches between its post and its completion.
struct SendPayload {
  const std::byte* data = nullptr;
  std::uint64_t length = 0;
  std::uint64_t number = 0;  // with has_number
  std::uint64_t user = 0;
};
static_assert(sizeof(SendBase) + offsetof(SendPayload, user) <= 64);

// What announced and one-sided messages need beside it.
struct SendTransfer {
  std::uint64_t sent = 0;             // next offset that was never sent
  std::uint64_t granted = 0;          // offsets below may be sent
  std::uint64_t acked = 0;            // bytes acknowledged
  std::uint32_t list_next = kNoSlot;  // flow's bulk list or peer's cancel list
  std::uint32_t list_previous = kNoSlot;
  // How often it began anew: segments of an earlier round count for nothing.
  std::uint32_t round = 0;
  std::uint32_t read_slot = kNoSlot;  // read request: our receive record
  std::uint64_t region_key = 0;
  std::uint64_t region_offset = 0;
  std::uint32_t immediate = 0;
  std::uint32_t behind = 0;       // ordered write: distance to the one before it, 0 = none
  std::uint32_t peer_token = 0;   // read answer: the reader's record
  std::uint32_t read_number = 0;  // read answer: low bits of the request's number
};

struct alignas(64) SendRecord : SendBase, SendPayload, SendTransfer {
  // A message that was posted, and nothing else happened to it.
  bool is_fresh_message() const {
    return kind == SendKind::kMessage && state == SendState::kQueued && !has_number &&
           !announce_queued;
  }
  void reset() {
    const std::uint32_t kept = generation;
    static_cast<SendBase&>(*this) = SendBase{};
    generation = kept;
  }
  void open_transfer() {
    if (has_transfer) return;
    static_cast<SendTransfer&>(*this) = SendTransfer{};
    has_transfer = true;
  }
};

enum class ReceiveKind : std::uint8_t { kReceive, kRead, kIncomingWrite };

enum class ReceiveState : std::uint8_t {
  kFree,
  kPosted,     // waits in its communicator
  kWaiting,    // a read: waits for the answer
  kMatched,    // has a message but no segment map yet
  kIncoming,   // segments arrive
  kNotifying,  // an incoming write that lies in memory: its notification waits for its turn
  kEnded,
};

// What every posted receive needs: the one cache line that a small message touches.
struct ReceiveBase {
  std::uint32_t next = kNoSlot;
  std::uint32_t generation = 0;
  ReceiveKind kind = ReceiveKind::kReceive;
  ReceiveState state = ReceiveState::kFree;
  TrafficClass traffic_class = TrafficClass::kGradient;
  bool has_user : 1 = true;  // as in a send
  bool has_deadline : 1 = false;
  bool has_transfer : 1 = false;  // the members of ReceiveTransfer mean something
  bool grant_dirty : 1 = false;   // in its peer's grant list
  bool in_flow_list : 1 = false;  // in its flow's list of messages that want grants
  bool revoked : 1 = false;       // its region is gone: discard, tell the sender when it fits
  bool cancelled : 1 = false;     // by its user, and ends when its sender can be told
  bool stalled : 1 = false;       // its sender is silent: not counted in the grant window
  bool notify : 1 = false;
  bool ordered : 1 = false;
  bool refused : 1 = false;            // segments that came before its buffer
  bool read_number_known : 1 = false;  // `number` is that of the read's request
  Errc status = Errc::kOk;
  std::uint16_t communicator = 0;
  PeerId peer;  // posted: wanted source, or none; matched: the source
  std::uint32_t tag = 0;
  std::uint32_t digest = 0;
  std::uint32_t list_next = kNoSlot;  // posted bucket, waiting lists
  std::uint32_t list_previous = kNoSlot;
  std::byte* buffer = nullptr;
  std::uint64_t capacity = 0;  // of the buffer; once ended: the bytes of the result
  std::uint64_t user = 0;
};
static_assert(sizeof(ReceiveBase) <= 64);

// What a granted message, a read or an incoming write needs beside it.
struct ReceiveTransfer {
  std::uint64_t number = 0;
  std::uint64_t granted = 0;
  std::uint64_t message_bytes = 0;
  std::uint32_t grant_next = kNoSlot;  // peer's list of grants to send
  std::uint32_t grant_previous = kNoSlot;
  std::uint32_t sender_token = 0;
  std::uint32_t map_slot = kNoSlot;
  std::uint32_t request_slot = kNoSlot;  // read: its request while that is under way
  std::uint32_t immediate = 0;
  std::uint32_t peer_digest = 0;  // with kDigestMismatch
  std::uint32_t behind = 0;       // ordered: distance to the write whose notification goes first
  SegmentMap map;
  Instant last_arrival;
  std::uint64_t region_key = 0;
  std::uint64_t region_offset = 0;
};

struct alignas(64) ReceiveRecord : ReceiveBase, ReceiveTransfer {
  void reset() {
    const std::uint32_t kept = generation;
    static_cast<ReceiveBase&>(*this) = ReceiveBase{};
    generation = kept;
  }
  void open_transfer() {
    if (has_transfer) return;
    static_cast<ReceiveTransfer&>(*this) = ReceiveTransfer{};
    has_transfer = true;
  }
};

// What one packet under way carries, so that its loss or arrival can be acted on.
enum class SentKind : std::uint8_t {
  kMessages,  // chain of `length` eager records from `slot`
  kSegment,   // [offset, offset + length) of record `slot`
  kAnnounce,  // record `slot`
  kGrant,     // receive record `slot`, granted up to `offset`
  kRefusals,  // refusals up to sequence `slot` of the in paths that are bits of `offset`
  kEndings,   // endings of the peer from sequence `offset` up to `slot`
  kCancel,    // send record `slot`
  kCredit,    // channel `slot`
  kAbort,     // communicator `slot`
  kProbe,     // nothing to repeat: a path probe has its own clock
};

struct SentItem {
  std::uint32_t slot = kNoSlot;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;
  SentKind kind = SentKind::kProbe;
  std::uint32_t generation = 0;  // of the slot, for kGrant and kCredit; kSegment: its round
};

inline constexpr std::uint32_t kSentItemsMax = 4;

struct SentPacket {
  std::uint32_t next = kNoSlot;  // path's list or flow's lost list
  std::uint32_t generation = 0;
  std::uint64_t number = 0;
  Instant sent_at;
  std::uint32_t bytes = 0;
  TrafficClass traffic_class = TrafficClass::kControl;
  std::uint8_t item_count = 0;
  std::uint8_t path = 0;
  bool skipped = false;  // a number left out on purpose: an ACK for it is a lie
  std::array<SentItem, kSentItemsMax> items;
};

// A queue of a channel, and what the peer remembers of it.
struct Lane {
  SlotQueue<SendRecord, &SendRecord::next> queue;
  std::uint32_t announced = 0;  // announced and not granted
  bool paused = false;          // the peer had no room: goes on at the channel's `retry_at`

  bool ready() const { return !queue.empty() && !paused; }
};

// One communicator in one flow: the unit of fairness, and of order for messages. Messages wait
// for receives of the peer, and have the channel's own lane; writes, reads and answers wait for
// nothing, and have another: neither stands behind the other.
struct Channel : Lane {
  std::uint32_t next = kNoSlot;
  std::uint32_t generation = 0;
  std::uint32_t slot = kNoSlot;  // its own
  FlowId flow;
  std::uint16_t communicator = 0;
  bool in_ring = false;
  bool closed = false;  // the receiver had no room: messages are announced, not sent eagerly
  bool has_last = false;
  bool has_ordered = false;
  bool credit_dirty = false;     // credit_given grew: tell the peer
  bool probe_due = false;        // ask the peer for its credit and grants
  bool in_credit_queue = false;  // of the peer
  std::uint32_t ring_next = kNoSlot;
  Lane one_sided;
  bool one_sided_next = false;      // begins the next turn
  std::uint32_t deficit_bytes = 0;  // left of its turn; 0 = no turn began
  std::uint32_t records = 0;        // sends that have not ended: they name this channel
  std::uint64_t last_number = 0;
  std::uint64_t last_ordered = 0;       // its newest write with an ordered notification
  std::uint64_t messages_sent = 0;      // messages that consumed a receive of the peer
  std::uint64_t credit_received = 0;    // receives the peer says it posted for us, cumulative
  std::uint64_t credit_given = 0;       // receives posted here for the peer, cumulative
  std::uint32_t credit_next = kNoSlot;  // peer's list of credits to send
  Instant credit_probe_at = Instant::never();
  Duration credit_probe_interval;
  Instant retry_at = Instant::never();
  Duration retry_interval;  // zero: the peer had room the last time

  Lane& lane(SendKind kind) {
    if (kind == SendKind::kMessage) return *this;
    return one_sided;
  }
  Lane& next_lane() {
    if (one_sided_next) return one_sided;
    return *this;
  }
  bool has_queued() const { return !queue.empty() || !one_sided.queue.empty(); }
  bool has_ready() const { return ready() || one_sided.ready(); }
  bool has_announced() const { return announced > 0 || one_sided.announced > 0; }
};

// A message that cannot be given to a receive yet.
struct Unexpected {
  std::uint32_t next = kNoSlot;
  std::uint32_t generation = 0;
  std::uint32_t list_next = kNoSlot;  // communicator's bucket, flow's parked list or orphans
  std::uint32_t list_previous = kNoSlot;
  FlowId flow;
  std::uint16_t communicator = 0;
  std::uint8_t order = 0;
  bool announced = false;  // else the bytes are held here
  bool parked = false;     // waits for an earlier message of its communicator
  bool orphan = false;     // its communicator does not exist yet
  bool refused = false;    // segments of it were
  std::uint32_t tag = 0;
  std::uint32_t digest = 0;
  std::uint64_t number = 0;
  std::uint64_t length = 0;
  std::uint32_t sender_token = 0;
  std::uint32_t held = 0xffffffffU;  // BlockPool chain
};

// A refusal of a message that came whole, an announcement or a request is about a run of numbers:
// in the wire's token, so many below all ones. No record has such a slot.
inline constexpr std::uint32_t kRefusedRunMax = 128;
constexpr std::uint32_t token_of_run(std::uint32_t count) { return kNoSlot - (count - 1); }
constexpr std::uint32_t run_of_token(std::uint32_t token) { return kNoSlot - token + 1; }
constexpr bool is_run(std::uint32_t token) { return token > kNoSlot - kRefusedRunMax; }
static_assert(kRefusedRunMax >= wire::kFramesMax, "one run holds a whole packet of messages");
// A refusal of segments whose announcement was not held: the sender's token is not known here.
inline constexpr std::uint32_t kUnknownToken = kNoSlot - kRefusedRunMax;
static_assert(!is_run(kUnknownToken));

// Refusals of one peer at a time; packets that cause more count as lost. One packet of messages
// never does: between two runs of it lies a message that was taken. They and an ACK fit the
// smallest packet.
inline constexpr std::uint32_t kRefusalsPerPeerMax = 64;
static_assert(kRefusalsPerPeerMax * 2 >= wire::kFramesMax);

// A message that was not taken. One that came whole, and segments without a buffer, are
// refused as part of the packet that brought them: the refusal travels with every ACK of that
// packet's path until a packet with both was acknowledged. Of an announced message that ends
// here its sender is told by a frame of its own: an ending.
struct Refusal {
  std::uint32_t next = kNoSlot;
  std::uint32_t generation = 0;
  TrafficClass traffic_class = TrafficClass::kControl;
  Errc code = Errc::kOk;
  std::uint8_t in_path = 0;  // that brought it: its ACK goes with the refusal, each time
  bool sent = false;
  std::uint64_t number = 0;
  std::uint32_t count = 1;  // numbers in a row, only without a token
  std::uint32_t token = 0;  // the sender's; kNoSlot for what was not announced
  std::uint32_t sequence = 0;
};

}  // namespace zhinu::core

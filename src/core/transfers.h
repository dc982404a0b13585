// Granted messages on their way in: segment maps, bandwidth grants, stalls, and
// the notifications of one-sided writes.
//
// Internal to src/core. The receiver keeps at most `grant_window_bytes` granted
// and not arrived, over all senders, and shares them round robin over flows and,
// in a flow, over messages: 64 senders are as calm as one (Homa, SIGCOMM 2018,
// section 3.3; SIRD, arXiv 2312.15403). Thread rule: the endpoint's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"

namespace zhinu::core {

// What a handler of a frame says of it.
enum class Taken : std::uint8_t {
  kYes,        // used, or dropped for good: the packet may be acknowledged
  kDuplicate,  // seen before: the peer did not get our ACK
  kNoRoom,     // not used: the packet must count as lost
  kBad,        // breaks the protocol
};

class Transfers {
 public:
  explicit Transfers(State& state);

  // A receive record got message `number` of `flow`, `bytes` long: announced as `token`.
  void start(Instant now, std::uint32_t slot, FlowId flow, std::uint64_t number,
             std::uint32_t token, std::uint64_t bytes);
  Taken on_segment(Instant now, FlowId flow, std::uint64_t number, std::uint64_t offset,
                   ByteSpan payload);
  // Ends a matched or incoming record: its sender hears `code`. False when there is no room to
  // tell it (nothing changed; try again).
  bool end(Instant now, std::uint32_t slot, Errc own_code, Errc peer_code);
  // Ends it without telling: the sender gave up, or its peer is gone.
  void drop(Instant now, std::uint32_t slot, Errc code);
  // Its region is revoked: its memory may not be touched any more.
  void revoke(Instant now, std::uint32_t slot);

  // A small write with notification lies in memory. False when it cannot be remembered.
  bool notify_put(FlowId flow, const ReceiveRecord& write);
  // Emits what waits for its turn or for room in the event ring.
  void flush_notifications() {
    if (!notifying_.empty()) emit_notifications();
  }
  // A message number was seen, taken or not: ordered notifications may have waited for it.
  void on_number_seen() {
    if (waits_for_floor_) emit_notifications();
  }
  // The peer is gone: what lies in memory is told, in its order, though the writes before it
  // will never come.
  void release_notifications(PeerId peer);

  // An announcement of a message that was seen before. If it has ended here, segments of it may
  // still wait for a grant over there: they may go, so that it ends there too.
  void announced_again(FlowId flow, std::uint32_t token, std::uint64_t number);
  // The sender asks what it may send.
  void repeat_grants(FlowId flow, std::uint16_t communicator);
  // Remembers that what the packet at hand brought of `number` is not taken. With the sender's
  // `token` its segments are meant, without (kNoSlot) the message or its announcement. False
  // when there is no room.
  bool refuse(FlowId flow, std::uint64_t number, std::uint32_t token, Errc code);
  // Tells the sender that its announced message ends with `code`. False when there is no room.
  bool tell_end(FlowId flow, std::uint64_t number, std::uint32_t token, Errc code);
  // The packet counts as lost, so what it brought is not refused either: takes back refusals
  // from sequence `first` on.
  void take_back_refusals(Peer& peer, std::uint32_t first) {
    if (peer.refusal_sequence != first) remove_refusals_from(peer, first);
  }
  // The message came in after all: a refusal on its way would be a lie.
  void forget_refusal(FlowId flow, std::uint64_t number) {
    if (state_.peer(peer_of(flow)).refusal_count > 0) remove_refusal(flow, number);
  }

  Instant timeout() const { return stall_check_at_; }
  std::size_t memory_bytes() const { return active_.capacity() * sizeof(std::uint32_t); }
  void handle_timeout(Instant now);

 private:
  void remove_refusal(FlowId flow, std::uint64_t number);
  void remove_refusals_from(Peer& peer, std::uint32_t first);
  bool refuse_segments(FlowId flow, std::uint32_t slot, std::uint64_t number);
  Taken on_late_segment(FlowId flow, std::uint64_t number);
  bool is_refused(const Peer& peer, const Refusal& refusal) const;
  bool prolongs_run(Peer& peer, const Refusal& refusal);
  void take_out(Peer& peer, std::uint32_t slot, std::uint64_t number);
  void begin(Instant now, std::uint32_t slot);
  void pump(Instant now);
  bool grant_one(FlowId flow, std::uint64_t bytes);
  void want_grants(std::uint32_t slot);
  void send_grant(std::uint32_t slot);
  void remove_from_flow(std::uint32_t slot);
  std::uint64_t pending(const ReceiveRecord& record) const;
  void finish(Instant now, std::uint32_t slot);
  void complete(Instant now, std::uint32_t slot);
  bool notified_before(const ReceiveRecord& record);
  bool ordered_before(const ReceiveRecord& write) const;
  bool emit_notification(std::uint32_t slot);
  void emit_notifications();

  State& state_;
  std::uint64_t outstanding_ = 0;  // granted and not arrived, of senders that are not stalled
  std::uint64_t quantum_ = 0;
  FlowId ring_head_;
  FlowId ring_tail_;
  ReceiveList waiting_;                // matched, no segment map yet
  ReceiveList notifying_;              // complete, notification not out yet
  bool waits_for_floor_ = false;       // one of them, behind a write that was given up
  std::vector<std::uint32_t> active_;  // incoming records; capacity segment_maps_max
  Instant stall_check_at_ = Instant::never();
};

}  // namespace zhinu::core

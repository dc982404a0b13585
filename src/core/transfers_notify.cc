// Notifications of one-sided writes, and their order.
#include <algorithm>

#include "core/transfers.h"

namespace zhinu::core {

// True if an ordered write of the same communicator with a lower number is here and was not
// notified.
bool Transfers::ordered_before(const ReceiveRecord& write) const {
  const auto before = [&](std::uint32_t slot) {
    const ReceiveRecord& record = state_.receives[slot];
    return record.kind == ReceiveKind::kIncomingWrite && record.ordered &&
           record.peer == write.peer && record.traffic_class == write.traffic_class &&
           record.communicator == write.communicator && record.number < write.number;
  };
  for (const ReceiveList* list : {&notifying_, &waiting_}) {
    for (std::uint32_t slot = list->head; slot != kNoSlot; slot = state_.receives[slot].list_next) {
      if (before(slot)) return true;
    }
  }
  return std::any_of(active_.begin(), active_.end(), before);
}

// True once every ordered write of its communicator before this one was notified, or never
// will be.
bool Transfers::notified_before(const ReceiveRecord& record) {
  if (record.behind > 0 && record.behind <= record.number) {
    const std::uint64_t before = record.number - record.behind;
    const Flow& flow = state_.flow(flow_id(record.peer, record.traffic_class));
    if (flow.has_notified && flow.last_notified == before) return true;
    if (flow.incoming.look(before) != NumberWindow::Seen::kSeen) return false;
    if (before < flow.void_end && flow.incoming.floor() < before) {
      // It may have been given up or refused: what it was itself behind is not known.
      waits_for_floor_ = true;
      return false;
    }
  }
  // Without a distance, too: a sender that gave up the channel knows only that what came before
  // was taken.
  return !ordered_before(record);
}

bool Transfers::emit_notification(std::uint32_t slot) {
  const ReceiveRecord& record = state_.receives[slot];
  if (record.ordered && !notified_before(record)) return false;
  if (state_.events_full()) return false;
  Event event;
  event.kind = EventKind::kNotification;
  event.at = record.last_arrival;
  event.peer = record.peer;
  event.communicator = {record.communicator};
  event.traffic_class = record.traffic_class;
  event.immediate = record.immediate;
  event.region = {record.region_key};
  event.offset = record.region_offset;
  event.bytes = record.message_bytes;
  state_.push_event(event);
  if (record.ordered) {
    Flow& flow = state_.flow(flow_id(record.peer, record.traffic_class));
    flow.has_notified = true;
    flow.last_notified = record.number;
  }
  return true;
}

bool Transfers::notify_put(FlowId flow, const ReceiveRecord& write) {
  const std::uint32_t slot = state_.acquire_receive(true);
  if (slot == kNoSlot) return false;
  ReceiveRecord& record = state_.receives[slot];
  const std::uint32_t generation = record.generation;
  record = write;
  record.generation = generation;
  record.kind = ReceiveKind::kIncomingWrite;
  record.has_user = false;
  record.state = ReceiveState::kNotifying;
  record.peer = peer_of(flow);
  record.traffic_class = class_of(flow);
  notifying_.push_back(state_.receives, slot);
  flush_notifications();
  return true;
}

void Transfers::emit_notifications() {
  waits_for_floor_ = false;
  bool progress = true;
  while (progress && !state_.events_full()) {
    progress = false;
    for (std::uint32_t slot = notifying_.head; slot != kNoSlot;) {
      const std::uint32_t next = state_.receives[slot].list_next;
      if (emit_notification(slot)) {
        notifying_.remove(state_.receives, slot);
        state_.complete_receive(slot, Errc::kOk, state_.receives[slot].message_bytes);
        progress = true;
      }
      slot = next;
    }
  }
}

void Transfers::release_notifications(PeerId peer) {
  for (;;) {
    std::uint32_t first = kNoSlot;
    for (std::uint32_t slot = notifying_.head; slot != kNoSlot;
         slot = state_.receives[slot].list_next) {
      const ReceiveRecord& record = state_.receives[slot];
      if (record.peer != peer || !record.ordered) continue;
      if (first == kNoSlot || record.number < state_.receives[first].number) first = slot;
    }
    if (first == kNoSlot) break;
    state_.receives[first].ordered = false;
    notifying_.remove(state_.receives, first);
    notifying_.push_back(state_.receives, first);
  }
  flush_notifications();
}

}  // namespace zhinu::core

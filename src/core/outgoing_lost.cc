// What lost packets left: it goes again, or is forgotten.
#include <algorithm>

#include "core/outgoing.h"

namespace zhinu::core {

bool Outgoing::fill_lost(Instant now, Flow& flow, FlowId id, PacketBuilder& builder) {
  while (!flow.lost.empty()) {
    if (flow.pace_resends && now < flow.resend_at) {
      flow.resend_waits = true;
      state_.touch_timer(state_.peer(peer_of(id)));
      return true;  // other work may go meanwhile
    }
    const std::uint32_t sent_slot = flow.lost.head;
    SentPacket& lost = state_.sent_packets[sent_slot];
    while (lost.item_count > 0) {
      if (!fill_lost_item(lost.items[0], builder)) return false;
      std::copy(lost.items.begin() + 1, lost.items.end(), lost.items.begin());
      --lost.item_count;
    }
    flow.lost.pop_front(state_.sent_packets);
    state_.sent_packets.release(sent_slot);
  }
  flow.pace_resends = false;
  return true;
}

// False when the packet is full; what did not fit stays in the item.
bool Outgoing::fill_lost_item(SentItem& item, PacketBuilder& builder) {
  if (item.kind == SentKind::kMessages) {
    while (item.length > 0) {
      const std::uint32_t slot = item.slot;
      SendRecord& record = state_.sends[slot];
      const std::uint32_t next = record.next;
      if (record.state == SendState::kEager && record.failure != Errc::kOk) {
        --record.references;
        requeue_for_announce(slot);
      } else if (record.state == SendState::kEager) {
        if (!builder.fits_message(eager_bytes(record)) || !builder.fits_number(record.number)) {
          // A message that fits no packet of this path any more must be granted.
          if (!builder.empty() || !builder.fits_number(record.number)) return false;
          --record.references;
          requeue_for_announce(slot);
        } else {
          add_eager(slot, record, builder);
        }
      } else {
        --record.references;
        if (record.state == SendState::kEnded) queue_cancel(slot);
        state_.try_release_send(slot);
      }
      item.slot = next;
      --item.length;
    }
    return true;
  }
  SendRecord& record = state_.sends[item.slot];
  const bool old = item.kind == SentKind::kSegment && item.generation != record.round;
  if (record.state != SendState::kAnnounced || old) {
    --record.references;
    state_.try_release_send(item.slot);
    return true;
  }
  if (item.kind == SentKind::kAnnounce) {
    if (!builder.fits(announce_bytes(record)) || !builder.fits_number(record.number)) return false;
    --record.references;
    add_announce(item.slot, builder);
    return true;
  }
  ZHINU_ASSERT(item.kind == SentKind::kSegment);
  if (record.failure != Errc::kOk) {  // the bytes are gone, and its reader is told so
    --record.references;
    return true;
  }
  if (!builder.fits(wire::kSegmentFrameBytes + 1) || !builder.fits_number(record.number)) {
    return false;
  }
  std::uint32_t length =
      std::min(item.length, builder.room() - static_cast<std::uint32_t>(wire::kSegmentFrameBytes));
  if (length < item.length) length -= length % static_cast<std::uint32_t>(wire::kSegmentUnitBytes);
  if (length == 0) return false;
  add_segment(item.slot, item.offset, length, builder);
  item.offset += length;
  item.length -= length;
  if (item.length > 0) return false;  // the path takes smaller packets: the rest goes next
  --record.references;
  return true;
}

// What went whole is announced: the peer may have taken it.
void Outgoing::forget_lost_message(std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.references > 0);
  --record.references;
  if (record.state == SendState::kEager) return requeue_for_announce(slot);
  if (record.state == SendState::kEnded) queue_cancel(slot);
  state_.try_release_send(slot);
}

void Outgoing::forget_lost_item(const SentItem& item) {
  SendRecord& record = state_.sends[item.slot];
  ZHINU_ASSERT(record.references > 0);
  --record.references;
  if (record.state != SendState::kAnnounced) return state_.try_release_send(item.slot);
  if (item.kind == SentKind::kSegment) {
    if (item.generation != record.round || record.failure != Errc::kOk) return;
    begin_anew(record);
    push_bulk(item.slot);
  } else if (!record.announce_acked && !record.grant_came) {
    drop_unsent(item.slot, state_.flow(record.flow));
    requeue_for_announce(item.slot);
  }
}

void Outgoing::forget_lost(FlowId id) {
  Flow& flow = state_.flow(id);
  while (!flow.lost.empty()) {
    const std::uint32_t sent_slot = flow.lost.pop_front(state_.sent_packets);
    const SentPacket& lost = state_.sent_packets[sent_slot];
    for (std::uint8_t i = 0; i < lost.item_count; ++i) {
      const SentItem& item = lost.items[i];
      if (item.kind != SentKind::kMessages) {
        forget_lost_item(item);
        continue;
      }
      std::uint32_t slot = item.slot;
      for (std::uint32_t k = 0; k < item.length; ++k) {
        const std::uint32_t next = state_.sends[slot].next;
        state_.sends[slot].next = kNoSlot;
        forget_lost_message(slot);
        slot = next;
      }
    }
    state_.sent_packets.release(sent_slot);
  }
  flow.pace_resends = false;
}

}  // namespace zhinu::core

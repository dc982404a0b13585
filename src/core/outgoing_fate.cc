// What the arrival or loss of a packet means for the messages in it.
#include "core/outgoing.h"

namespace zhinu::core {

// Back to its channel's queue, before everything that was sent after it.
void Outgoing::requeue_for_announce(std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  auto& queue = state_.channels[record.channel].lane(record.kind).queue;
  record.state = SendState::kQueued;
  record.announce_queued = true;
  if (record.has_transfer && record.sent > 0) begin_anew(record);
  ++record.references;  // the queue's
  std::uint32_t before = kNoSlot;
  for (std::uint32_t at = queue.head; at != kNoSlot; at = state_.sends[at].next) {
    const SendRecord& queued = state_.sends[at];
    if (!queued.has_number || queued.number > record.number) break;
    before = at;
  }
  queue.insert_after(state_.sends, before, slot);
  push_channel(state_.flow(record.flow), record.channel);
}

bool Outgoing::on_acked(const SentItem& item, FlowId flow_id, SentPacket& sent,
                        std::uint32_t sent_slot, const RefusedNumbers& refused) {
  Flow& flow = state_.flow(flow_id);
  switch (item.kind) {
    case SentKind::kMessages: on_messages_acked(item, flow, refused); return false;
    case SentKind::kAnnounce: on_announce_acked(item.slot, flow, refused); return false;
    case SentKind::kSegment: return on_segment_acked(item, sent, sent_slot, refused);
    case SentKind::kGrant:
    case SentKind::kRefusals:
    case SentKind::kEndings:
    case SentKind::kCancel:
    case SentKind::kCredit:
    case SentKind::kAbort:
    case SentKind::kProbe: break;  // control items never come here
  }
  ZHINU_ASSERT(false);
  return false;
}

void Outgoing::on_messages_acked(const SentItem& item, Flow& flow, const RefusedNumbers& refused) {
  std::uint32_t slot = item.slot;
  for (std::uint32_t i = 0; i < item.length; ++i) {
    SendRecord& record = state_.sends[slot];
    const std::uint32_t next = record.next;
    record.next = kNoSlot;
    ZHINU_ASSERT(record.references > 0);
    const Errc code =
        refused.count == 0 ? Errc::kOk : refused.find(class_of(record.flow), record.number);
    if (code == Errc::kNotHeld && record.state == SendState::kEager) {
      if (record.kind == SendKind::kMessage) state_.channels[record.channel].closed = true;
      // A request has no other form in which it might find room.
      if (record.kind == SendKind::kReadRequest) pause(refused.at, record);
      requeue_for_announce(slot);
      --record.references;
    } else if (code == Errc::kOk && record.state == SendState::kEager &&
               record.kind != SendKind::kReadRequest) {
      flow.outgoing.mark(record.number);
      --record.references;
      complete(slot, record, Errc::kOk);
    } else {
      if (code == Errc::kOk) flow.outgoing.mark(record.number);
      if (record.state == SendState::kEager) {
        if (record.kind == SendKind::kReadRequest) end_read_request(record, code);
        complete(slot, record, code);
      }
      // Not taken, or given up here before: the peer waits for the number.
      if (code != Errc::kOk) queue_cancel(slot);
      --record.references;
      state_.try_release_send(slot, record);
    }
    slot = next;
  }
}

// The request arrived: its answer is on the way, or its refusal is the answer.
void Outgoing::end_read_request(SendRecord& record, Errc code) {
  if (record.read_slot == kNoSlot) return;
  ReceiveRecord& receive = state_.receives[record.read_slot];
  const std::uint32_t slot = record.read_slot;
  record.read_slot = kNoSlot;
  receive.request_slot = kNoSlot;
  if (code != Errc::kOk && receive.state == ReceiveState::kWaiting) {
    state_.complete_receive(slot, code, 0);
  }
}

void Outgoing::on_announce_acked(std::uint32_t slot, Flow& flow, const RefusedNumbers& refused) {
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.references > 0);
  --record.references;
  const Errc code = refused.find(class_of(record.flow), record.number);
  if (code == Errc::kNotHeld && record.state == SendState::kAnnounced) {
    // Not even the announcement found room: it goes again, later.
    pause(refused.at, record);
    drop_unsent(slot, flow);
    return requeue_for_announce(slot);
  }
  if (flow.outgoing.look(record.number) == NumberWindow::Seen::kFresh && code == Errc::kOk) {
    flow.outgoing.mark(record.number);
  }
  if (record.state != SendState::kAnnounced) return state_.try_release_send(slot);
  record.announce_acked = true;
  if (code != Errc::kOk) return end(slot, code);
  // A message waits for its receive, also without bytes: the peer remembers no more of a channel
  // than it may announce.
  if (record.length == 0 && record.kind != SendKind::kMessage) return complete(slot, Errc::kOk);
  // The region went while the announcement was under way: the reader waits for data.
  if (record.failure != Errc::kOk) end(slot, record.failure);
}

// The region behind an answer is gone: its bytes may not be read any more.
void Outgoing::fail_answer(std::uint32_t slot, Errc code) {
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.kind == SendKind::kReadAnswer);
  if (record.state == SendState::kEnded || record.state == SendState::kFree) return;
  if (record.state == SendState::kAnnounced && record.announce_acked) return end(slot, code);
  record.failure = code;
  record.data = nullptr;
  if (record.state == SendState::kAnnounced) {
    drop_unsent(slot, state_.flow(record.flow));
    record.granted = 0;
  } else {
    record.length = 0;
  }
}

// An announced message waits again: nothing of it may be sent now.
void Outgoing::drop_unsent(std::uint32_t slot, Flow& flow) {
  SendRecord& record = state_.sends[slot];
  if (record.in_bulk) {
    record.in_bulk = false;
    flow.bulk.remove(state_.sends, slot);
  }
  release_announced(record);
}

bool Outgoing::on_segment_acked(const SentItem& item, SentPacket& sent, std::uint32_t sent_slot,
                                const RefusedNumbers& refused) {
  SendRecord& record = state_.sends[item.slot];
  const bool counts = record.state == SendState::kAnnounced && item.generation == record.round;
  const bool held =
      !counts || refused.find(class_of(record.flow), record.number, true) == Errc::kOk;
  if (!held && record.grant_came) {
    // Refused before the buffer came, or taken after it, by a refusal that was not known to be
    // old: a segment too many is dropped over there.
    sent.items[0] = item;
    sent.item_count = 1;
    state_.flow(record.flow).lost.push_back(state_.sent_packets, sent_slot);
    activate(record.flow);
    return true;
  }
  ZHINU_ASSERT(record.references > 0);
  --record.references;
  // A failed answer may have no length any more; it ends with its announcement.
  if (!counts || record.failure != Errc::kOk) {
    state_.try_release_send(item.slot);
  } else if (!held) {
    record.refused = true;
  } else if (record.refused) {
    // There is a buffer by now, or the message is complete over there.
    begin_anew(record);
    push_bulk(item.slot);
    activate(record.flow);
  } else {
    record.acked += item.length;
    ZHINU_ASSERT(record.acked <= record.length);
    if (record.acked == record.length) complete(item.slot, Errc::kOk);
  }
  return false;
}

void Outgoing::forget_packet(std::uint32_t sent_slot) {
  const SentPacket& sent = state_.sent_packets[sent_slot];
  for (std::uint8_t i = 0; i < sent.item_count; ++i) {
    const SentItem& item = sent.items[i];
    std::uint32_t slot = item.slot;
    if (item.kind == SentKind::kMessages) {
      for (std::uint32_t k = 0; k < item.length; ++k) {
        SendRecord& record = state_.sends[slot];
        const std::uint32_t next = record.next;
        record.next = kNoSlot;
        --record.references;
        state_.try_release_send(slot);
        slot = next;
      }
    } else if (item.kind == SentKind::kSegment || item.kind == SentKind::kAnnounce) {
      --state_.sends[slot].references;
      state_.try_release_send(slot);
    } else if (item.kind == SentKind::kCancel) {
      state_.sends[slot].cancel_pending = false;
      state_.try_release_send(slot);
    }
  }
  state_.sent_packets.release(sent_slot);
}

void Outgoing::on_cancel_acked(std::uint32_t slot) {
  SendRecord& record = state_.sends[slot];
  ZHINU_ASSERT(record.cancel_pending);
  record.cancel_pending = false;
  Flow& flow = state_.flow(record.flow);
  if (flow.outgoing.look(record.number) == NumberWindow::Seen::kFresh) {
    flow.outgoing.mark(record.number);
    activate(record.flow);  // the window of numbers may have been what it waited for
  }
  state_.try_release_send(slot);
}

void Outgoing::on_cancel_lost(std::uint32_t slot) {
  Peer& peer = state_.peer(peer_of(state_.sends[slot].flow));
  peer.cancels.push_back(state_.sends, slot);
  state_.want_control(peer);
}

}  // namespace zhinu::core

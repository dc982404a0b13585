#include "core/recovery.h"

#include <algorithm>

namespace zhinu::core {

namespace {

constexpr std::uint8_t kProbeBackoffMax = 10;
// A number left out is not remembered when fewer records are free: nothing is sent with it, so
// it must not keep anything from being sent.
constexpr std::uint32_t kTrapReserve = 16;

// Loss on the median path that means congestion: queues that neither mark nor delay.
constexpr std::uint32_t kCongestionLossPerMille = 20;

bool carries_message(SentKind kind) {
  return kind == SentKind::kMessages || kind == SentKind::kSegment || kind == SentKind::kAnnounce;
}

}  // namespace

void Recovery::on_sent(Peer& peer, std::uint32_t sent_slot) {
  const SentPacket& sent = state_.sent_packets[sent_slot];
  PathFlight& flight = peer.flights[sent.path];
  flight.sent.push_back(state_.sent_packets, sent_slot);
  // With others under way, this one only moves deadlines to later instants.
  if (flight.eliciting == 0) state_.touch_timer(peer);
  ++flight.eliciting;
  flight.last_sent_at = sent.sent_at;
  ++peer.eliciting;
  if (peer.owed_since == Instant::never()) {
    peer.owed_since = sent.sent_at;
    state_.touch_timer(peer);
  }
  if (sent.traffic_class != TrafficClass::kControl) {
    peer.flow(sent.traffic_class).window.on_sent(sent.bytes);
  }
}

void Recovery::on_skipped(Instant now, Peer& peer, std::uint8_t path, std::uint64_t number) {
  // What a closed session still says is not acknowledged, and the next one counts anew: there
  // the number is a packet like others.
  if (peer.state != PeerState::kUp || state_.sent_packets.available() < kTrapReserve) return;
  const std::uint32_t slot = state_.sent_packets.acquire();
  SentPacket& sent = state_.sent_packets[slot];
  sent.number = number;
  sent.sent_at = now;
  sent.path = path;
  sent.skipped = true;
  peer.flights[path].sent.push_back(state_.sent_packets, slot);
}

bool Recovery::on_ack(Instant now, Peer& peer, const wire::Frame& frame,
                      std::span<wire::AckRange> ranges, const RefusedNumbers& refused) {
  const std::uint8_t path = frame.flags;
  if (path >= peer.paths.size()) return false;
  const std::uint64_t largest_sent = peer.paths.largest_sent(path);
  const std::uint64_t largest =
      wire::expand_number(static_cast<std::uint32_t>(frame.number), largest_sent + 1);
  if (largest > largest_sent) return false;
  if (!wire::rebase_ack_ranges(ranges, largest).ok()) return false;
  PathFlight& flight = peer.flights[path];
  AckedTotals totals;
  std::optional<Instant> newest_sent_at;
  if (!take_acked(peer, path, ranges, refused, totals, newest_sent_at)) return false;
  if (peer.eliciting == 0) peer.owed_since = Instant::never();
  // A probe has no record, but its ACK is news of the path like any other.
  const bool newest = !flight.any_acked || largest > flight.largest_acked;
  if (newest) {
    flight.any_acked = true;
    flight.largest_acked = largest;
  }
  const std::uint32_t marked = frame.digest - flight.ecn_seen;
  // Only of its largest number does an ACK say how long it was there. An older one may be new here
  // because the ACKs before were lost.
  std::optional<Duration> ack_delay;
  if (totals.newest == largest) ack_delay = microseconds(frame.tag);
  const bool plausible = marked <= largest_sent;  // an old ACK, late, would seem to go backwards
  if (plausible) flight.ecn_seen = frame.digest;
  if (totals.packets == 0 && !newest) return true;
  flight.probe_backoff = 0;
  flight.probe_wanted = false;
  peer.paths.on_ack(now, path, totals.bytes, std::max(totals.packets, 1U), newest_sent_at,
                    ack_delay, plausible ? marked : 0);
  for (std::size_t i = 1; i < kTrafficClasses; ++i) {
    if (totals.class_bytes[i] == 0) continue;
    const auto traffic_class = static_cast<TrafficClass>(i);
    peer.flow(traffic_class)
        .window.on_acked(now, totals.class_bytes[i], peer.paths.best_rtt(),
                         peer.paths.median_queue_delay(), peer.paths.median_marked_per_mille());
    outgoing_.activate(flow_id(peer.id, traffic_class));
  }
  detect_losses(now, peer, path);
  state_.touch_timer(peer);
  return true;
}

// Walks the path's packets, ascending, against the ranges, lowest first.
bool Recovery::take_acked(Peer& peer, std::uint8_t path, std::span<const wire::AckRange> ranges,
                          const RefusedNumbers& refused, AckedTotals& totals,
                          std::optional<Instant>& newest_sent_at) {
  PathFlight& flight = peer.flights[path];
  std::size_t range = ranges.size();
  std::uint32_t previous = kNoSlot;
  std::uint32_t slot = flight.sent.head;
  while (slot != kNoSlot && range > 0) {
    SentPacket& sent = state_.sent_packets[slot];
    const wire::AckRange& candidate = ranges[range - 1];
    if (sent.number > candidate.last) {
      --range;
      continue;
    }
    const std::uint32_t next = sent.next;
    if (sent.number < candidate.first) {
      previous = slot;
      slot = next;
      continue;
    }
    if (sent.skipped) return false;  // the peer acknowledges what was never sent
    flight.sent.remove_after(state_.sent_packets, previous);
    ZHINU_ASSERT(flight.eliciting > 0);
    --flight.eliciting;
    --peer.eliciting;
    totals.bytes += sent.bytes;
    ++totals.packets;
    totals.class_bytes[index_of(sent.traffic_class)] += sent.bytes;
    totals.newest = sent.number;
    newest_sent_at = sent.sent_at;
    acknowledge(peer, slot, refused);
    slot = next;
  }
  return true;
}

void Recovery::acknowledge(Peer& peer, std::uint32_t sent_slot, const RefusedNumbers& refused) {
  SentPacket& sent = state_.sent_packets[sent_slot];
  const auto items = sent.items;
  const std::uint8_t count = sent.item_count;
  bool kept = false;
  for (std::uint8_t i = 0; i < count; ++i) {
    if (carries_message(items[i].kind)) {
      const FlowId flow = flow_id(peer.id, sent.traffic_class);
      kept = outgoing_.on_acked(items[i], flow, sent, sent_slot, refused) || kept;
    } else {
      on_control_acked(peer, items[i]);
    }
  }
  if (!kept) state_.sent_packets.release(sent_slot);
}

void Recovery::on_control_acked(Peer& peer, const SentItem& item) {
  switch (item.kind) {
    case SentKind::kCancel: return outgoing_.on_cancel_acked(item.slot);
    case SentKind::kRefusals: return forget_refusals(peer, item);
    case SentKind::kEndings: return on_endings_acked(peer, item);
    case SentKind::kAbort:
      if (Communicator* communicator = state_.communicator(static_cast<std::uint16_t>(item.slot));
          communicator != nullptr && communicator->aborted) {
        communicator->abort_told[peer.id.value / 64] |= 1ULL << (peer.id.value % 64);
      }
      return;
    case SentKind::kGrant:
    case SentKind::kCredit:
    case SentKind::kProbe:
    case SentKind::kMessages:
    case SentKind::kSegment:
    case SentKind::kAnnounce: return;  // nothing to do once they arrived; messages are not ours
  }
}

void Recovery::on_endings_acked(Peer& peer, const SentItem& item) {
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t slot = peer.endings.head; slot != kNoSlot;) {
    const Refusal& ending = state_.refusals[slot];
    const std::uint32_t next = ending.next;
    if (ending.sequence > item.slot) return;
    if (ending.sequence < item.offset) {
      previous = slot;
    } else {
      peer.endings.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
    }
    slot = next;
  }
}

// The peer knows the refusals that came with the ACKs of their paths.
void Recovery::forget_refusals(Peer& peer, const SentItem& item) {
  std::uint32_t previous = kNoSlot;
  for (std::uint32_t slot = peer.refusals.head; slot != kNoSlot;) {
    const Refusal& refusal = state_.refusals[slot];
    const std::uint32_t next = refusal.next;
    if (refusal.sequence <= item.slot && (item.offset >> refusal.in_path & 1) != 0) {
      peer.refusals.remove_after(state_.refusals, previous);
      state_.refusals.release(slot);
      --peer.refusal_count;
    } else {
      previous = slot;
    }
    slot = next;
  }
}

void Recovery::on_control_lost(Peer& peer, const SentItem& item) {
  switch (item.kind) {
    case SentKind::kCancel: return outgoing_.on_cancel_lost(item.slot);
    case SentKind::kRefusals:
      // The ACKs that they went with are lost too.
      peer.ack_mask |= item.offset;
      peer.ack_due_at = Instant{};
      break;
    case SentKind::kEndings:
      peer.endings_sent_to =
          std::min(peer.endings_sent_to, static_cast<std::uint32_t>(item.offset));
      break;
    case SentKind::kAbort: {
      Communicator* communicator = state_.communicator(static_cast<std::uint16_t>(item.slot));
      if (communicator == nullptr || !communicator->aborted) return;
      communicator->abort_sent[peer.id.value / 64] &= ~(1ULL << (peer.id.value % 64));
      peer.aborts_due = true;
      break;
    }
    case SentKind::kGrant: {
      ReceiveRecord& record = state_.receives[item.slot];
      const bool same = record.generation == item.generation &&
                        record.state == ReceiveState::kIncoming && !record.grant_dirty;
      if (!same) return;
      record.grant_dirty = true;
      peer.grants.push_back(state_.receives, item.slot);
      break;
    }
    case SentKind::kCredit: {
      Channel& channel = state_.channels[item.slot];
      if (channel.generation != item.generation || channel.in_credit_queue) return;
      channel.credit_dirty = true;
      channel.in_credit_queue = true;
      peer.credits.push_back(state_.channels, item.slot);
      break;
    }
    case SentKind::kProbe:
    case SentKind::kMessages:
    case SentKind::kSegment:
    case SentKind::kAnnounce: return;
  }
  state_.want_control(peer);
}

void Recovery::detect_losses(Instant now, Peer& peer, std::uint8_t path) {
  PathFlight& flight = peer.flights[path];
  flight.loss_at = Instant::never();
  if (!flight.any_acked) return;
  const Duration delay = peer.paths.loss_delay(path);
  std::uint32_t lost_bytes = 0;
  std::uint32_t lost_packets = 0;
  while (!flight.sent.empty()) {
    const std::uint32_t slot = flight.sent.head;
    const SentPacket& sent = state_.sent_packets[slot];
    if (sent.number >= flight.largest_acked) break;
    const bool overtaken = flight.largest_acked - sent.number >= kReorderPackets;
    if (!overtaken && now < sent.sent_at + delay) {
      flight.loss_at = sent.sent_at + delay;
      break;
    }
    flight.sent.pop_front(state_.sent_packets);
    if (sent.skipped) {
      state_.sent_packets.release(slot);
      continue;
    }
    --flight.eliciting;
    --peer.eliciting;
    lost_bytes += sent.bytes;
    ++lost_packets;
    lose(now, peer, slot);
  }
  if (lost_packets > 0) {
    state_.counters.add(Counter::kPacketsLost, lost_packets);
    peer.paths.on_lost(now, path, lost_bytes, lost_packets);
    if (peer.paths.median_loss_per_mille() >= kCongestionLossPerMille) slow_down(now, peer);
  }
}

void Recovery::slow_down(Instant now, Peer& peer) {
  for (Flow& flow : peer.flows) {
    if (flow.window.in_flight() > 0) flow.window.on_congestion(now, peer.paths.best_rtt());
  }
}

void Recovery::lose(Instant, Peer& peer, std::uint32_t sent_slot) {
  SentPacket& sent = state_.sent_packets[sent_slot];
  if (sent.traffic_class != TrafficClass::kControl) {
    peer.flow(sent.traffic_class).window.on_lost(sent.bytes);
  }
  std::uint8_t kept = 0;
  for (std::uint8_t i = 0; i < sent.item_count; ++i) {
    if (carries_message(sent.items[i].kind)) {
      sent.items[kept++] = sent.items[i];
    } else {
      on_control_lost(peer, sent.items[i]);
    }
  }
  sent.item_count = kept;
  const TrafficClass traffic_class = sent.traffic_class;
  if (kept > 0) {
    state_.counters.add(Counter::kBytesResent, sent.bytes);
    peer.flow(traffic_class).lost.push_back(state_.sent_packets, sent_slot);
  } else {
    state_.sent_packets.release(sent_slot);
  }
  // Even without anything to repeat the window has room now.
  if (traffic_class != TrafficClass::kControl) outgoing_.activate(flow_id(peer.id, traffic_class));
}

void Recovery::flush_path(Instant now, Peer& peer, std::uint8_t path) {
  PathFlight& flight = peer.flights[path];
  const std::uint32_t share = peer.paths.share_per_mille(path);
  std::array<bool, kTrafficClasses> hit{};
  while (!flight.sent.empty()) {
    const std::uint32_t slot = flight.sent.pop_front(state_.sent_packets);
    const SentPacket& sent = state_.sent_packets[slot];
    if (sent.skipped) {
      state_.sent_packets.release(slot);
      continue;
    }
    hit[index_of(sent.traffic_class)] = true;
    --flight.eliciting;
    --peer.eliciting;
    lose(now, peer, slot);
  }
  flight.loss_at = Instant::never();
  flight.probe_wanted = false;
  flight.probe_backoff = 0;
  peer.paths.on_flushed(path);
  for (std::size_t i = 1; i < kTrafficClasses; ++i) {
    Flow& flow = peer.flow(static_cast<TrafficClass>(i));
    flow.window.on_path_dead(share);
    if (!hit[i]) continue;
    flow.pace_resends = true;
    flow.resend_at = now;
  }
  state_.touch_timer(peer);
}

void Recovery::forget(Peer& peer) {
  for (std::uint32_t path = 0; path < peer.paths.size(); ++path) {
    PathFlight& flight = peer.flights[path];
    while (!flight.sent.empty()) {
      const std::uint32_t slot = flight.sent.pop_front(state_.sent_packets);
      outgoing_.forget_packet(slot);
    }
    flight = PathFlight{};
  }
  for (Flow& flow : peer.flows) {
    while (!flow.lost.empty()) {
      outgoing_.forget_packet(flow.lost.pop_front(state_.sent_packets));
    }
  }
  while (!peer.refusals.empty()) {
    state_.refusals.release(peer.refusals.pop_front(state_.refusals));
  }
  peer.refusal_count = 0;
  while (!peer.endings.empty()) {
    state_.refusals.release(peer.endings.pop_front(state_.refusals));
  }
  peer.endings_sent_to = peer.ending_sequence;
  peer.eliciting = 0;
  peer.owed_since = Instant::never();
}

Instant Recovery::probe_at(const Peer& peer, std::uint8_t path) const {
  const PathFlight& flight = peer.flights[path];
  if (flight.eliciting == 0 || flight.probe_wanted || !peer.paths.usable(path)) {
    return Instant::never();
  }
  const Duration base = peer.paths.probe_timeout(path, state_.options.ack_delay);
  const Duration wait =
      std::min(base * (std::int64_t{1} << flight.probe_backoff), state_.options.probe_timeout_max);
  return flight.last_sent_at + wait;
}

Instant Recovery::timeout(const Peer& peer) const {
  Instant earliest = Instant::never();
  if (peer.eliciting == 0) return earliest;
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    earliest = std::min({earliest, peer.flights[path].loss_at, probe_at(peer, path)});
  }
  return earliest;
}

void Recovery::handle_timeout(Instant now, Peer& peer) {
  for (std::uint32_t i = 0; i < peer.paths.size(); ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    PathFlight& flight = peer.flights[path];
    if (flight.loss_at <= now) detect_losses(now, peer, path);
    if (probe_at(peer, path) <= now) {
      flight.probe_wanted = true;
      if (flight.probe_backoff < kProbeBackoffMax) ++flight.probe_backoff;
      state_.counters.add(Counter::kProbeTimeouts);
      state_.want_control(peer);
    }
  }
}

}  // namespace zhinu::core

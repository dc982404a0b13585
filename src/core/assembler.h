// Which packet leaves next, and what it carries.
//
// Internal to src/core. Control goes first; then the classes share by deficit
// round robin, flows of a class take turns of one train (design decisions 2, 8).
// ACKs and grants ride on data where there is some. Thread rule: the endpoint's.
#pragma once

#include <cstdint>

#include "core/connections.h"
#include "core/outgoing.h"
#include "core/recovery.h"
#include "core/state.h"

namespace zhinu::core {

class Assembler {
 public:
  Assembler(State& state, Outgoing& outgoing, Recovery& recovery)
      : state_(state), outgoing_(outgoing), recovery_(recovery) {}

  // Fills `out` with the next sealed packet; false when nothing may leave now.
  bool poll_transmit(Instant now, Transmit& out);

 private:
  bool next_control(Instant now, Transmit& out);
  bool next_data(Instant now, Transmit& out);
  bool next_repeat(Instant now, Transmit& out);
  void give_back_lost();
  bool send_control(Instant now, Peer& peer, Transmit& out);
  bool send_path_probe(Instant now, Peer& peer, Transmit& out);
  bool send_data(Instant now, FlowId id, Transmit& out);
  bool control_due(Instant now, const Peer& peer) const;
  bool waits_for_record(const Peer& peer) const;
  std::uint32_t packet_limit(const Peer& peer, std::uint8_t path) const;

  // Frames. Each adds what fits; `items` says whether frames that elicit an ACK may be added.
  void add_acks(Instant now, Peer& peer, PacketBuilder& builder, bool items);
  std::uint64_t paths_to_ack(const Peer& peer, bool items) const;
  std::uint32_t add_refusals(Peer& peer, std::uint64_t paths, PacketBuilder& builder);
  static void add_refusal(const Refusal& refusal, PacketBuilder& builder);
  void add_endings(Peer& peer, PacketBuilder& builder);
  void add_grants(Peer& peer, PacketBuilder& builder);
  void add_cancels(Peer& peer, PacketBuilder& builder);
  void add_credits(Peer& peer, PacketBuilder& builder);
  void add_aborts(Peer& peer, PacketBuilder& builder);
  void add_probe_answers(Peer& peer, PacketBuilder& builder);
  void finish(Instant now, Peer& peer, std::uint8_t path, TrafficClass traffic_class,
              PacketBuilder& builder, std::uint32_t sent_slot, Transmit& out);
  void leave_ring(State::FlowRing& ring);

  // Sent-packet records that must be free for a packet of each kind: data cannot lock out its
  // own repeats, nor these grants and cancels.
  static constexpr std::uint32_t kDataReserve = kSentPacketsMin;
  static constexpr std::uint32_t kRepeatReserve = 6;
  static constexpr std::uint32_t kControlReserve = 3;

  State& state_;
  Outgoing& outgoing_;
  Recovery& recovery_;
  wire::Packet packet_;
  SentPacket scratch_;           // for packets that elicit no ACK
  std::uint8_t ring_ = 1;        // class whose turn it is
  std::uint32_t out_bytes_ = 0;  // of the last packet
};

}  // namespace zhinu::core

// A datagram on its way in: which connection, is it genuine, what do its frames say.
//
// Internal to src/core. Nothing of a packet is used before its tag was checked;
// a packet that found no room is not recorded, so that it counts as lost.
// Thread rule: the endpoint's.
#pragma once

#include "core/connections.h"
#include "core/incoming.h"
#include "core/outgoing.h"
#include "core/recovery.h"
#include "core/state.h"
#include "core/transfers.h"

namespace zhinu::core {

class Dispatcher {
 public:
  Dispatcher(State& state, Outgoing& outgoing, Incoming& incoming, Transfers& transfers,
             Recovery& recovery, Connections& connections)
      : state_(state),
        outgoing_(outgoing),
        incoming_(incoming),
        transfers_(transfers),
        recovery_(recovery),
        connections_(connections) {}

  Status handle_datagram(Instant now, const Arrival& arrival, ByteSpan datagram);

 private:
  Status handle_packet(Instant now, const Arrival& arrival, ByteSpan packet);
  Status verify(Instant now, ByteSpan packet, Peer*& peer, InPath*& path);
  Taken handle_frames(Instant now, Peer& peer);
  Taken handle_frame(Instant now, Peer& peer, const wire::Frame& frame);
  Taken handle_one_sided(Instant now, Peer& peer, const wire::Frame& frame);
  Taken handle_refuse(Peer& peer, const wire::Frame& frame);
  void handle_abort(const wire::Frame& frame);
  void repeat_credit(Peer& peer, FlowId flow, std::uint16_t communicator);
  void heard(Instant now, Peer& peer, InPath& path, const Arrival& arrival);
  Status drop(Errc code);

  State& state_;
  Outgoing& outgoing_;
  Incoming& incoming_;
  Transfers& transfers_;
  Recovery& recovery_;
  Connections& connections_;
  wire::Packet packet_;
  RefusedNumbers refused_;  // of the packet at hand
  InPath unheard_;          // stands for a path of which no packet was genuine yet
};

}  // namespace zhinu::core

// The transport core of one process: sans-IO, no clock, socket or thread.
//
// Time and packets come in (`handle_*`, posts), work comes out (`poll_*`). After
// any handle_* or post call poll_transmit until it returns false, then
// poll_completions and poll_event, then sleep until poll_timeout at most.
// `now` must never go back. Set-up calls (constructor, add_peer, add_path,
// create_communicator, register_region, and a handshake that a peer starts) may
// allocate; posting, sending, receiving, timers and loss recovery never do.
// Thread rule: one thread at a time. docs/protocol.md tells the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "core/counters.h"
#include "core/entropy.h"
#include "core/misbehaviour.h"
#include "core/options.h"
#include "core/types.h"
#include "wire/codec.h"
#include "wire/handshake_packet.h"
#include "wire/packet.h"

namespace zhinu::core {

// How packets are protected. Both ends must agree, else every packet has a bad tag.
enum class SealMode : std::uint8_t {
  kNone,    // no check at all: benchmarks and the simulator
  kCrc32c,  // `auth off`: guards integrity against faults, not against attackers
  kGmac,    // AES-128-GMAC with keys derived from the job key
};

struct Identity {
  std::uint32_t rank = 0;
  std::uint64_t world = 0;        // generation of the world; packets of others are refused
  std::uint64_t incarnation = 0;  // random, new at each start
  SealMode seal = SealMode::kGmac;
  std::array<std::byte, 32> job_key{};  // with kGmac
};

struct PeerConfig {
  std::uint32_t rank = 0;
  std::span<const PathConfig> paths;  // at least one
};

// Where a packet must go.
struct Route {
  PeerId peer;  // none() for an answer to a stranger
  Address to;
  std::uint16_t key = 0;
  std::uint8_t nic = 0;
  std::uint8_t path = 0;
  TrafficClass traffic_class = TrafficClass::kControl;
};

// One packet to send. `packet` borrows from the endpoint until the next call.
struct Transmit {
  Route route;
  const wire::Packet* packet = nullptr;  // null: `handshake` is to be sent
  wire::HandshakePacket handshake;
};

// What the driver knows about a datagram that arrived.
struct Arrival {
  Address from;
  std::uint8_t nic = 0;
  bool ecn_marked = false;
};

class Endpoint {
 public:
  // `entropy` and `misbehaviour` (may be null) must outlive the endpoint.
  Endpoint(const EndpointOptions& options, const Identity& identity, Entropy& entropy,
           Misbehaviour* misbehaviour = nullptr);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Set-up.
  //
  // Makes a peer known and starts the handshake. Packets of a peer that was not
  // added are answered as the protocol asks but make no state, so both sides add
  // each other. kExists, kFull, kInvalidArgument (no path, one that takes less than the 1,280
  // bytes a packet that every peer takes, or the rank is our own).
  Result<PeerId> add_peer(Instant now, const PeerConfig& config);
  // kFull (paths_max), kUnknownPeer, kInvalidArgument as above. The index of the new path.
  Result<std::uint8_t> add_path(Instant now, PeerId peer, const PathConfig& config);
  // Sends a close and ends every item of the peer with kPeerClosed. The id stays
  // valid; the handshake starts again when the peer says hello.
  Status close_peer(Instant now, PeerId peer);
  Result<PeerId> find_peer(std::uint32_t rank) const;
  bool peer_is_up(PeerId peer) const;

  Status create_communicator(CommunicatorId communicator);
  // Ends what is posted on it with kCancelled. Later packets for it find no communicator.
  Status destroy_communicator(Instant now, CommunicatorId communicator);
  // Ends everything on the communicator with kAborted, here at once, and tells all
  // peers, which tell theirs. Bounded: needs no answer.
  Status abort(Instant now, CommunicatorId communicator, Errc code);

  Result<RegionKey> register_region(MutableByteSpan memory, RegionAccess access);
  // Writes and reads under way on it end with kRegionRefused; when this returns the
  // core touches the memory no more.
  Status revoke_region(Instant now, RegionKey region);

  // Posting. Returns at once. kInvalidArgument, kUnknownPeer, kUnknownCommunicator,
  // kAborted, kFull (poll completions, then try again).
  Result<Operation> send(Instant now, const SendArgs& args);
  Result<Operation> receive(Instant now, const ReceiveArgs& args);
  Result<Operation> write(Instant now, const WriteArgs& args);
  Result<Operation> read(Instant now, const ReadArgs& args);
  // Ends an item with kCancelled unless its result is already decided; either way
  // exactly one completion follows. A receive that has begun ends a little later if there is
  // no room now to tell its sender, and with kOk if all arrives before. kUnknownOperation.
  Status cancel(Instant now, Operation operation);

  // Input. `datagram` holds one packet or several back to back (receive offload);
  // each is verified, counted, and used or dropped with a counted reason. Returns
  // the reason of the last drop, or ok. Payload is copied out before this returns.
  Status handle_datagram(Instant now, const Arrival& arrival, ByteSpan datagram);
  void handle_timeout(Instant now);

  // Output.
  Instant poll_timeout() const;  // may change after every other call
  bool poll_transmit(Instant now, Transmit& out);
  // Encodes and seals what poll_transmit gave; see wire::encode for the arguments.
  Result<wire::Encoded> encode(const Transmit& transmit, MutableByteSpan out,
                               std::size_t tail_bytes_min) const;
  std::size_t poll_completions(std::span<Completion> out);
  bool poll_event(Event& out);

  // Looking.
  const Counters& counters() const;
  // Every out path of the peer; kUnknownPeer.
  struct PathStatus {
    PathConfig config;
    PathState state = PathState::kGood;
    std::uint16_t weight = 0;  // in effect, 256 = 1.0
    Duration rtt;              // smoothed; zero = no sample
    std::uint64_t in_flight_bytes = 0;
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_lost = 0;
  };
  Result<PathStatus> path_status(PeerId peer, std::uint8_t path) const;
  // Bytes of idle state, for the budgets of design decision 10: the endpoint
  // without its arena, one peer's flow, one path, one communicator. The arena is all
  // else that the constructor allocates, sized by the options, and what
  // communicators added to it.
  struct Footprint {
    std::size_t endpoint = 0;
    std::size_t flow = 0;
    std::size_t path_out = 0;
    std::size_t path_in = 0;
    std::size_t communicator = 0;
    std::size_t arena = 0;
  };
  Footprint footprint() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zhinu::core

// Two ways to hold the modules of an endpoint in a test: an Engine, whose peers are up
// without a handshake and whose packets go nowhere, and a Link, two endpoints joined by
// datagrams that the test carries.
//
// Virtual time only; everything follows from the seeds. Thread rule: one test at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <vector>

#include "core/assembler.h"
#include "core/connections.h"
#include "core/dispatcher.h"
#include "core/endpoint.h"
#include "core/handshake_samples_test.h"
#include "core/incoming.h"
#include "core/outgoing.h"
#include "core/recovery.h"
#include "core/state.h"
#include "core/transfers.h"
#include "wire/codec.h"

namespace zhinu::core::test {

inline constexpr CommunicatorId kWorldCommunicator{1};

// Small pools, and no packet number left out: what a test sends has the number it expects.
inline EndpointOptions engine_options() {
  EndpointOptions options;
  options.sends_max = 256;
  options.receives_max = 256;
  options.sent_packets_max = 512;
  options.channels_max = 64;
  options.held_blocks_max = 64;
  options.segment_maps_max = 64;
  options.refusals_max = 128;
  options.events_max = 64;
  options.regions_max = 16;
  options.peers_max = 64;
  options.paths_max = 8;
  options.in_paths_max = 64;
  options.path.skip_packets_min = 1'000'000;
  options.path.skip_packets_max = 1'000'000;
  return options;
}

inline PathConfig path_to(std::uint8_t host, std::uint8_t nic = 0) {
  PathConfig path;
  path.remote = address_of(host);
  path.nic = nic;
  path.group = nic;
  return path;
}

class Engine {
 public:
  explicit Engine(const EndpointOptions& options = engine_options())
      : state(options, Identity{.rank = 1, .incarnation = 1}, entropy_, nullptr),
        outgoing(state),
        transfers(state),
        incoming(state, outgoing, transfers),
        recovery(state, outgoing),
        connections(state, outgoing, incoming, transfers, recovery),
        assembler(state, outgoing, recovery) {
    add_communicator(kWorldCommunicator);
  }

  Peer& add_peer(std::uint32_t paths = 1, std::uint32_t packet_bytes_max = 4'096) {
    const PeerId id{static_cast<std::uint32_t>(state.peers.size())};
    auto peer = std::make_unique<Peer>(state.options, id.value + 1);
    peer->id = id;
    peer->rank = 100 + id.value;
    for (std::uint32_t path = 0; path < paths; ++path) {
      EXPECT_TRUE(peer->add_path(path_to(9, static_cast<std::uint8_t>(path))).ok());
    }
    peer->state = PeerState::kUp;
    peer->session.packet_bytes_max = packet_bytes_max;
    peer->session.eager_bytes_max = state.options.eager_bytes_max;
    peer->in_path_count = state.options.paths_max;
    state.peers.push_back(std::move(peer));
    state.timers.grow(static_cast<std::uint32_t>(state.peers.size()));
    return state.peer(id);
  }
  // The in path owes an ACK that is due `delay` from now.
  void owe_ack(Peer& peer, std::uint8_t path, std::uint64_t number, Duration delay = {}) {
    in_path(peer, path).on_packet(now, number, 100, true, false);
    peer.ack_mask |= 1ULL << path;
    peer.ack_due_at = now + delay;
    if (delay == Duration{}) state.want_control(peer);
  }
  // Uses records of packets up until `left` are free.
  void use_records(std::uint32_t left) {
    while (state.sent_packets.available() > left) {
      ASSERT_NE(state.sent_packets.acquire(), kNoSlot);
    }
  }
  InPath& in_path(Peer& peer, std::uint8_t index) {
    InPath* const path = peer.in_paths[index];
    return path != nullptr ? *path : *state.in_paths.acquire(peer.in_paths, index);
  }
  Communicator& add_communicator(CommunicatorId id) {
    auto& page = state.communicator_pages[id.value >> 8];
    if (!page) page = std::make_unique<State::CommunicatorPage>();
    auto communicator = std::make_unique<Communicator>();
    communicator->id = id;
    communicator->abort_told.resize(state.options.peers_max / 64 + 1);
    communicator->abort_sent.resize(state.options.peers_max / 64 + 1);
    (*page)[id.value & 0xff] = std::move(communicator);
    return *state.communicator(id.value);
  }
  void abort(Communicator& communicator) {
    communicator.aborted = true;
    communicator.abort_code = Errc::kAborted;
    communicator.aborted_next = state.aborted_head;
    state.aborted_head = &communicator;
    for (const auto& peer : state.peers) {
      peer->aborts_due = true;
      state.want_control(*peer);
    }
  }

  // Contents that live as long as this object.
  MutableByteSpan memory(std::size_t bytes) {
    contents_.push_back(sample_packet(bytes, contents_.size() + 1));
    return contents_.back();
  }
  std::uint32_t send(Peer& peer, std::size_t bytes,
                     TrafficClass traffic_class = TrafficClass::kGradient) {
    return send_from(peer, memory(bytes), traffic_class);
  }
  std::uint32_t send_from(Peer& peer, ByteSpan data,
                          TrafficClass traffic_class = TrafficClass::kGradient) {
    SendArgs args;
    args.peer = peer.id;
    args.traffic_class = traffic_class;
    args.communicator = kWorldCommunicator;
    args.data = data;
    return outgoing.post_send(peer, *state.communicator(kWorldCommunicator.value), args);
  }
  // The peer lets all of an announced message come.
  void grant_all(std::uint32_t slot) {
    const SendRecord& record = state.sends[slot];
    outgoing.on_grant(record.flow, slot, static_cast<std::uint32_t>(record.number), record.length);
  }

  bool poll(Transmit& out) { return assembler.poll_transmit(now, out); }
  // Sends all that may leave now; how many packets.
  std::uint32_t drain() {
    Transmit out;
    std::uint32_t packets = 0;
    while (poll(out)) ++packets;
    return packets;
  }
  // An ACK of [first, last] ranges, highest first, as it comes from the decoder.
  bool ack(Peer& peer, std::uint8_t path, std::vector<wire::AckRange> ranges,
           const RefusedNumbers& refused = {}) {
    wire::Frame frame;
    frame.kind = wire::FrameKind::kAck;
    frame.flags = path;
    frame.number = static_cast<std::uint32_t>(ranges.front().last);
    const std::uint64_t base = (1ULL << 32) + frame.number - ranges.front().last;
    for (wire::AckRange& range : ranges) range = {range.first + base, range.last + base};
    return recovery.on_ack(now, peer, frame, ranges, refused);
  }
  // Makes a path dead: silent, while the others answer their probes.
  void kill(Peer& peer, std::uint8_t path) {
    for (int i = 0; i < 1'000 && peer.paths.state(path) != PathState::kDead; ++i) {
      now = std::max(now, peer.paths.timeout());
      peer.paths.handle_timeout(now);
      while (const auto probe = peer.paths.poll_probe(now)) {
        if (probe->path == path) continue;
        now = now + microseconds(10);
        peer.paths.on_probe_response(now, probe->path, probe->challenge);
      }
    }
    EXPECT_EQ(peer.paths.state(path), PathState::kDead);
  }
  std::uint64_t count(Counter counter) const { return state.counters[counter]; }

  Instant now{1'000'000'000};

 private:
  SeededEntropy entropy_{1};
  std::vector<std::vector<std::byte>> contents_;

 public:
  State state;
  Outgoing outgoing;
  Transfers transfers;
  Incoming incoming;
  Recovery recovery;
  Connections connections;
  Assembler assembler;
};

inline std::vector<wire::FrameKind> kinds_of(const Transmit& transmit) {
  std::vector<wire::FrameKind> kinds;
  if (transmit.packet == nullptr) return kinds;
  for (std::uint32_t i = 0; i < transmit.packet->frame_count; ++i) {
    kinds.push_back(transmit.packet->frames[i].kind);
  }
  return kinds;
}

struct Datagram {
  std::uint32_t from = 0;  // side
  bool is_handshake = false;
  wire::Header header;
  Route route;
  std::vector<std::byte> bytes;
};

// Side i has rank i + 1 and lives at the address of host i + 1.
class Link {
 public:
  explicit Link(const EndpointOptions& options = engine_options(),
                SealMode seal = SealMode::kCrc32c)
      : options_{options, options} {
    for (std::uint32_t side = 0; side < 2; ++side) {
      identities_[side] = {.rank = side + 1,
                           .world = kWorld,
                           .incarnation = 100 + side,
                           .seal = seal,
                           .job_key = job_key_of(1)};
      start(side);
    }
  }

  Link(const Link&) = delete;  // the endpoints refer to it
  Link& operator=(const Link&) = delete;

  // A new endpoint with what options() and identity() of the side say now.
  void start(std::uint32_t side) {
    endpoints_[side] =
        std::make_unique<Endpoint>(options_[side], identities_[side], entropies_[side]);
    EXPECT_TRUE(endpoints_[side]->create_communicator(kWorldCommunicator).ok());
  }
  EndpointOptions& options(std::uint32_t side) { return options_[side]; }
  Identity& identity(std::uint32_t side) { return identities_[side]; }

  void add_peer(std::uint32_t side, std::uint8_t paths = 1) {
    std::vector<PathConfig> configs;
    for (std::uint8_t path = 0; path < paths; ++path) configs.push_back(path_to(host(1 - side)));
    const auto added = (*this)[side].add_peer(now, {.rank = 2 - side, .paths = configs});
    EXPECT_TRUE(added.ok());
  }
  void connect(std::uint8_t paths = 1) {
    add_peer(0, paths);
    add_peer(1, paths);
    run_for(milliseconds(100));
    EXPECT_TRUE((*this)[0].peer_is_up(kPeer));
    EXPECT_TRUE((*this)[1].peer_is_up(kPeer));
    static_cast<void>(events(0));
    static_cast<void>(events(1));
  }

  Endpoint& operator[](std::uint32_t side) { return *endpoints_[side]; }
  std::uint64_t count(std::uint32_t side, Counter counter) const {
    return endpoints_[side]->counters()[counter];
  }

  // All that a side has to send now.
  std::vector<Datagram> collect(std::uint32_t side) {
    std::vector<Datagram> datagrams;
    Transmit out;
    while ((*this)[side].poll_transmit(now, out)) {
      Datagram datagram{side, out.packet == nullptr, {}, out.route, {}};
      if (out.packet != nullptr) datagram.header = out.packet->header;
      datagram.bytes.resize(wire::kPacketBytesMax);
      const auto encoded = (*this)[side].encode(out, datagram.bytes, SIZE_MAX);
      EXPECT_TRUE(encoded.ok());
      datagram.bytes.resize(encoded.value().head_bytes);
      datagrams.push_back(std::move(datagram));
      if (datagrams.size() > 100'000) break;  // an endpoint that never stops
    }
    return datagrams;
  }
  Status inject(std::uint32_t to, ByteSpan bytes) {
    Arrival arrival;
    arrival.from = address_of(host(1 - to));
    return (*this)[to].handle_datagram(now, arrival, bytes);
  }
  // Carries datagrams until nobody has any; 10 us a way. `fate` may drop.
  void settle() {
    for (;;) {
      std::vector<Datagram> flying = collect(0);
      for (Datagram& datagram : collect(1)) flying.push_back(std::move(datagram));
      if (flying.empty()) return;
      now = now + microseconds(10);
      for (const Datagram& datagram : flying) {
        if (!fate || fate(datagram)) static_cast<void>(inject(1 - datagram.from, datagram.bytes));
      }
    }
  }
  Instant timeout() const {
    return std::min(endpoints_[0]->poll_timeout(), endpoints_[1]->poll_timeout());
  }
  void run_for(Duration duration) {
    const Instant end = now + duration;
    settle();
    while (timeout() <= end) {
      now = std::max(now, timeout());
      for (const auto& endpoint : endpoints_) endpoint->handle_timeout(now);
      settle();
    }
    now = std::max(now, end);
  }

  std::vector<Completion> completions(std::uint32_t side) {
    std::array<Completion, 256> out;
    const std::size_t count = (*this)[side].poll_completions(out);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::vector<Event> events(std::uint32_t side) {
    std::vector<Event> events;
    Event event;
    while ((*this)[side].poll_event(event)) events.push_back(event);
    return events;
  }

  SendArgs send_args(ByteSpan data) const {
    SendArgs args;
    args.peer = kPeer;
    args.communicator = kWorldCommunicator;
    args.data = data;
    return args;
  }
  ReceiveArgs receive_args(MutableByteSpan buffer) const {
    ReceiveArgs args;
    args.peer = kPeer;
    args.communicator = kWorldCommunicator;
    args.buffer = buffer;
    return args;
  }

  static std::uint8_t host(std::uint32_t side) { return static_cast<std::uint8_t>(side + 1); }

  static constexpr PeerId kPeer{0};
  Instant now = kStart;
  std::function<bool(const Datagram&)> fate;  // none: everything arrives

 private:
  std::array<EndpointOptions, 2> options_;
  std::array<Identity, 2> identities_;
  std::array<SeededEntropy, 2> entropies_{SeededEntropy(11), SeededEntropy(12)};
  std::array<std::unique_ptr<Endpoint>, 2> endpoints_;
};

}  // namespace zhinu::core::test

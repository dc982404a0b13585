// The modules of an endpoint that move messages, without packets on a wire: for
// tests that drive single functions of State, Outgoing, Incoming and Transfers.
//
// Small pools, one communicator (1), peers that are up. A test lets a flow fill a
// packet, looks at it and decides its fate. Thread rule: one test at a time.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/handshake_samples_test.h"
#include "core/incoming.h"
#include "core/outgoing.h"
#include "core/packet_builder.h"
#include "core/state.h"
#include "core/transfers.h"

namespace zhinu::core::test {

inline constexpr CommunicatorId kCommunicator{1};
inline constexpr CommunicatorId kOther{2};
inline constexpr std::uint32_t kPacketBytes = 4'096;

inline EndpointOptions small_options() {
  EndpointOptions options;
  options.sends_max = 64;
  options.receives_max = 16;
  options.sent_packets_max = 64;
  options.channels_max = 4;
  options.held_blocks_max = 8;
  options.segment_maps_max = 2;
  options.refusals_max = 8;
  options.events_max = 4;
  options.regions_max = 4;
  options.peers_max = 4;
  options.paths_max = 2;
  options.eager_bytes_max = 1'024;
  options.eager_budget_bytes = 2'048;
  options.communicator_reserve_bytes = 512;
  options.announced_max = 2;
  options.unscheduled_bytes = 2'048;
  options.message_span_bytes = 64 * 1'024;
  options.train_bytes = 8'192;
  return options;
}

// Switches on one misbehaviour at a time.
class Faults final : public Misbehaviour {
 public:
  bool short_send() override { return shorten; }
  bool late_completion() override { return late; }
  bool full_pool() override { return full; }

  bool shorten = false;
  bool late = false;
  bool full = false;
};

// What a packet held when it was closed; `sent` is kNoSlot without anything to remember.
struct Filled {
  std::vector<wire::FrameKind> kinds() const {
    std::vector<wire::FrameKind> kinds;
    for (const wire::Frame& frame : frames) kinds.push_back(frame.kind);
    return kinds;
  }
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const wire::Frame& frame : frames) numbers.push_back(frame.number);
    return numbers;
  }

  std::vector<wire::Frame> frames;
  std::uint32_t sent = kNoSlot;
  std::uint32_t bytes = 0;
};

inline std::vector<std::byte> bytes_of_seed(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  SeededEntropy(seed).fill(bytes);
  return bytes;
}

class Modules {
 public:
  explicit Modules(const EndpointOptions& options = small_options())
      : state(options, Identity{.rank = 7}, entropy_, &faults),
        outgoing(state),
        transfers(state),
        incoming(state, outgoing, transfers) {
    add_peer(3);
    add_communicator(kCommunicator);
  }

  PeerId add_peer(std::uint32_t rank) {
    const PeerId id{static_cast<std::uint32_t>(state.peers.size())};
    auto peer = std::make_unique<Peer>(state.options, rank);
    peer->id = id;
    peer->rank = rank;
    peer->state = PeerState::kUp;
    peer->session.packet_bytes_max = kPacketBytes;
    peer->session.eager_bytes_max = state.options.eager_bytes_max;
    state.peers.push_back(std::move(peer));
    state.timers.grow(static_cast<std::uint32_t>(state.peers.size()));
    return id;
  }
  Communicator& add_communicator(CommunicatorId id) {
    auto& page = state.communicator_pages[id.value >> 8];
    if (!page) page = std::make_unique<State::CommunicatorPage>();
    auto communicator = std::make_unique<Communicator>();
    communicator->id = id;
    communicator->abort_told.resize(1);
    communicator->abort_sent.resize(1);
    (*page)[id.value & 0xff] = std::move(communicator);
    return this->communicator(id);
  }
  Communicator& communicator(CommunicatorId id = kCommunicator) {
    Communicator* found = state.communicator(id.value);
    ZHINU_ASSERT(found != nullptr);
    return *found;
  }
  void remove_communicator(CommunicatorId id) {
    (*state.communicator_pages[id.value >> 8])[id.value & 0xff].reset();
  }

  FlowId flow_of(PeerId peer = kPeer) const { return flow_id(peer, TrafficClass::kGradient); }
  Flow& flow() { return state.flow(flow_of()); }
  Peer& peer() { return state.peer(kPeer); }
  Channel& channel(CommunicatorId communicator = kCommunicator) {
    return state.channels[state.find_channel(flow_of(), communicator.value)];
  }

  // Contents that live as long as this object.
  ByteSpan content(std::size_t size, std::uint64_t seed = 1) {
    contents_.push_back(bytes_of_seed(size, seed));
    return contents_.back();
  }
  MutableByteSpan memory(std::size_t size) {
    contents_.emplace_back(size);
    return contents_.back();
  }

  std::uint32_t send(std::size_t size, CommunicatorId communicator = kCommunicator,
                     std::uint32_t tag = 0) {
    SendArgs args;
    args.peer = kPeer;
    args.communicator = communicator;
    args.tag = tag;
    args.data = content(size, tag + 1);
    args.user = 100 + tag;
    return post(args);
  }
  // Announced, taken and granted as a whole.
  std::uint32_t granted(std::size_t size, CommunicatorId communicator = kCommunicator) {
    const std::uint32_t slot = send(size, communicator);
    ack(fill());
    const auto number = static_cast<std::uint32_t>(state.sends[slot].number);
    outgoing.on_grant(flow_of(), slot, number, size);
    return slot;
  }
  std::uint32_t write(std::size_t size, bool notify = false, bool ordered = false) {
    WriteArgs args;
    args.peer = kPeer;
    args.traffic_class = TrafficClass::kGradient;
    args.communicator = kCommunicator;
    args.data = content(size);
    args.region = {77};
    args.offset = 128;
    args.notify = notify;
    args.ordered = ordered;
    args.immediate = 5;
    return outgoing.post_write(args);
  }
  std::uint32_t read(std::size_t size) {
    ReadArgs args;
    args.peer = kPeer;
    args.traffic_class = TrafficClass::kGradient;
    args.communicator = kCommunicator;
    args.buffer = memory(size);
    args.region = {77};
    args.offset = 256;
    args.user = 300;
    return incoming.post_read(args);
  }
  // The record of an answer to the peer's read.
  std::uint32_t answer(std::size_t size) {
    EXPECT_TRUE(
        outgoing.post_read_answer({flow_of(), kCommunicator.value, content(size), 77, 13, 40}));
    return channel().one_sided.queue.tail;
  }
  // Makes the communicator that is missing: posts are for one that exists.
  std::uint32_t post(const SendArgs& args) {
    if (state.communicator(args.communicator.value) == nullptr) add_communicator(args.communicator);
    return outgoing.post_send(state.peer(args.peer), communicator(args.communicator), args);
  }
  std::uint32_t receive(MutableByteSpan buffer, std::uint32_t tag = 0, PeerId from = kPeer,
                        std::uint32_t digest = 0, CommunicatorId communicator = kCommunicator) {
    ReceiveArgs args;
    args.peer = from;
    args.communicator = communicator;
    args.tag = tag;
    args.digest = digest;
    args.buffer = buffer;
    args.user = 200 + tag;
    return incoming.post_receive(now, *state.communicator(communicator.value), args);
  }

  // The flow fills one packet of at most `limit` bytes.
  Filled fill(std::uint32_t limit = kPacketBytes) { return fill(flow_of(), limit); }
  Filled fill(FlowId id, std::uint32_t limit) {
    Filled filled;
    filled.sent = state.sent_packets.acquire();
    EXPECT_NE(filled.sent, kNoSlot);
    auto packet = std::make_unique<wire::Packet>();
    PacketBuilder builder(*packet, state.sent_packets[filled.sent], limit);
    outgoing.fill(now, state.flow(id), id, builder);
    filled.frames.assign(packet->frames.begin(), packet->frames.begin() + packet->frame_count);
    filled.bytes = builder.bytes();
    if (!builder.has_items()) {
      state.sent_packets.release(filled.sent);
      filled.sent = kNoSlot;
    }
    return filled;
  }
  void ack(const Filled& filled, RefusedNumbers refused = {}) {
    if (filled.sent == kNoSlot) return;
    refused.at = now;
    SentPacket& sent = state.sent_packets[filled.sent];
    const auto items = sent.items;
    const std::uint8_t count = sent.item_count;
    bool kept = false;
    for (std::uint8_t i = 0; i < count; ++i) {
      kept = outgoing.on_acked(items[i], flow_of(), sent, filled.sent, refused) || kept;
    }
    if (!kept) state.sent_packets.release(filled.sent);
  }
  // What the peer had no room for goes again after a while.
  void retry() { outgoing.check_credit_probes(now + seconds(1), peer()); }
  void lose(const Filled& filled) {
    flow().lost.push_back(state.sent_packets, filled.sent);
    outgoing.activate(flow_of());
  }

  std::vector<Completion> completions() {
    std::array<Completion, 64> out;
    const std::size_t count = state.poll_completions(out);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  // Nothing is posted or under way any more: no record, packet or place is in use.
  void expect_idle() {
    EXPECT_EQ(state.sends.used(), 0U);
    EXPECT_EQ(state.receives.used(), 0U);
    EXPECT_EQ(state.sent_packets.used(), 0U);
    EXPECT_EQ(state.unexpected.used(), 0U);
    EXPECT_EQ(state.incoming_index.size(), 0U);
    EXPECT_EQ(state.held.free_blocks(), state.held.blocks());
  }

  static constexpr PeerId kPeer{0};
  Instant now{1'000'000};
  Faults faults;

 private:
  SeededEntropy entropy_{1};
  std::vector<std::vector<std::byte>> contents_;

 public:
  State state;
  Outgoing outgoing;
  Transfers transfers;
  Incoming incoming;
};

inline RefusedNumbers refusal_of(std::uint64_t number, Errc code, bool segments = false) {
  RefusedNumbers refused;
  refused.entries[0] = {TrafficClass::kGradient, segments, code,
                        static_cast<std::uint32_t>(number)};
  refused.count = 1;
  return refused;
}

}  // namespace zhinu::core::test

// What the cross-module tests of the core share: contents, a tap on the wire of a
// Pair, packets that pass for genuine, and a mesh of many endpoints.
//
// Virtual time only; everything follows from the options and seeds given. Spans
// that are posted must outlive their completion. Thread rule: one thread at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "core/endpoint.h"
#include "core/seal.h"
#include "sim/net/address.h"
#include "sim/net/cluster.h"
#include "sim/net/pair.h"
#include "wire/codec.h"

namespace zhinu::sim::test {

using Bytes = std::vector<std::byte>;
using core::Counter;
using core::EventKind;

// Bytes that differ by position and by seed, so that a swap or a shift is seen.
inline Bytes content(std::size_t size, std::uint64_t seed = 1) {
  Bytes bytes(size);
  Prng prng(seed);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) store_le(bytes.data() + i, prng.next());
  for (; i < size; ++i) bytes[i] = static_cast<std::byte>(prng.next());
  return bytes;
}

inline std::uint64_t count_of(Pair& pair, std::uint32_t side, Counter counter) {
  return pair.endpoint(side).counters()[counter];
}

inline core::SendArgs send_args(ByteSpan data, std::uint32_t tag = 0) {
  core::SendArgs args;
  args.data = data;
  args.tag = tag;
  return args;
}

inline core::ReceiveArgs receive_args(Pair& pair, std::uint32_t side, MutableByteSpan buffer,
                                      std::uint32_t tag = 0) {
  core::ReceiveArgs args;
  args.peer = pair.peer(side);
  args.buffer = buffer;
  args.tag = tag;
  return args;
}

// How often the operation completed: must be one in the end.
inline std::size_t completions_of(const Pair& pair, std::uint32_t side, core::Operation operation) {
  std::size_t count = 0;
  for (const core::Completion& done : pair.completions(side)) {
    if (done.operation == operation) ++count;
  }
  return count;
}

inline Errc status_of(const Pair& pair, std::uint32_t side, core::Operation operation) {
  const auto done = pair.completion(side, operation);
  EXPECT_TRUE(done.has_value());
  return done.has_value() ? done->status : Errc::kInvalidArgument;
}

// The one result of an operation, waited for.
inline core::Completion result_of(Pair& pair, std::uint32_t side, core::Operation operation,
                                  Duration limit = seconds(10)) {
  const auto done = pair.result(side, operation, limit);
  EXPECT_TRUE(done.has_value()) << "no result";
  return done.value_or(core::Completion{});
}

// Sends `data` from side 0 to a receive of `capacity` bytes; both must end well.
inline void expect_exchange(Pair& pair, ByteSpan data, std::uint32_t from = 0,
                            std::uint32_t tag = 0) {
  Bytes buffer(data.size());
  const auto receive = pair.receive(1 - from, receive_args(pair, 1 - from, buffer, tag));
  const auto send = pair.send(from, send_args(data, tag));
  const core::Completion received = result_of(pair, 1 - from, receive);
  EXPECT_EQ(received.status, Errc::kOk);
  EXPECT_EQ(received.bytes, data.size());
  EXPECT_EQ(result_of(pair, from, send).status, Errc::kOk);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), buffer.begin()));
}

inline bool has_frame(const core::Transmit& transmit, wire::FrameKind kind) {
  if (transmit.packet == nullptr) return false;
  for (std::uint32_t i = 0; i < transmit.packet->frame_count; ++i) {
    if (transmit.packet->frames[i].kind == kind) return true;
  }
  return false;
}

// Sees what leaves either side of a Pair, keeps it, and decides its fate.
class Tap {
 public:
  struct Seen {
    std::uint32_t side = 0;
    Instant at;
    bool is_handshake = false;
    wire::Header header;
    Bytes bytes;
  };

  explicit Tap(Pair& pair) : pair_(pair) {
    pair.set_hook([this](const Pair::Leaving& leaving) {
      Seen one{leaving.side, pair_.now(), leaving.transmit.packet == nullptr, {}, {}};
      if (!one.is_handshake) one.header = leaving.transmit.packet->header;
      if (!one.is_handshake) last_header_[leaving.side] = one.header;
      if (keeps) {
        one.bytes.assign(leaving.bytes.begin(), leaving.bytes.end());
        seen.push_back(std::move(one));
      }
      return fate ? fate(leaving) : 1;
    });
  }
  ~Tap() { pair_.set_hook({}); }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  // Header of the last sealed packet that left the side.
  const wire::Header& last_header(std::uint32_t side) const { return last_header_[side]; }

  bool keeps = true;
  std::vector<Seen> seen;
  Pair::Hook fate;  // none: everything passes

 private:
  Pair& pair_;
  std::array<wire::Header, 2> last_header_;
};

inline core::Arrival arrival_from(std::uint32_t node) {
  core::Arrival arrival;
  arrival.from = encode_address(NicAddress{node, 0, 0});
  return arrival;
}

// Hands bytes to the endpoint of `to` as if they came from the other side.
inline Status inject(Pair& pair, std::uint32_t to, ByteSpan bytes) {
  const Status status = pair.endpoint(to).handle_datagram(pair.now(), arrival_from(1 - to), bytes);
  pair.touch(to);
  return status;
}

// A tag that fits under CRC, so that a test can say what the peer never would.
inline void reseal(MutableByteSpan bytes, std::uint8_t path, std::uint64_t number) {
  const core::Sealer sealer(Instant{}, core::SealMode::kCrc32c, {}, true, {});
  sealer.seal(bytes, {}, path, number, false);
}

// A sealed packet of these frames behind `header`, whose number is whole.
inline Bytes sealed_packet(const wire::Header& header, std::initializer_list<wire::Frame> frames) {
  auto packet = std::make_unique<wire::Packet>();
  packet->header = header;
  for (const wire::Frame& frame : frames) packet->add(frame.kind) = frame;
  Bytes bytes(wire::kPacketBytesMax);
  const auto encoded = wire::encode(*packet, bytes, SIZE_MAX);
  EXPECT_TRUE(encoded.ok());
  bytes.resize(encoded.value().head_bytes);
  reseal(bytes, header.path, header.number);
  return bytes;
}

// Many endpoints that all know each other, with communicator 1 on each.
class Mesh : private Owner {
 public:
  explicit Mesh(const ClusterOptions& options) : cluster_(options, *this) {
    completions_.resize(cluster_.nodes());
    events_.resize(cluster_.nodes());
    for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) {
      cluster_.start(node);
      const Status created = cluster_.endpoint(node).create_communicator(core::CommunicatorId{1});
      EXPECT_TRUE(created.ok());
    }
  }

  bool connect_all(Duration limit = seconds(5)) {
    for (std::uint32_t from = 0; from < cluster_.nodes(); ++from) {
      for (std::uint32_t to = 0; to < cluster_.nodes(); ++to) {
        if (from != to) cluster_.connect(from, to);
      }
    }
    return run_until([this] { return all_up(); }, limit);
  }
  bool all_up() {
    for (std::uint32_t from = 0; from < cluster_.nodes(); ++from) {
      for (std::uint32_t to = 0; to < cluster_.nodes(); ++to) {
        if (from == to) continue;
        if (!cluster_.endpoint(from).peer_is_up(cluster_.peer(from, to))) return false;
      }
    }
    return true;
  }

  Cluster& cluster() { return cluster_; }
  core::Endpoint& endpoint(std::uint32_t node) { return cluster_.endpoint(node); }

  core::Operation send(std::uint32_t from, std::uint32_t to, core::SendArgs args) {
    args.peer = cluster_.peer(from, to);
    if (args.communicator.is_none()) args.communicator = core::CommunicatorId{1};
    const auto posted = endpoint(from).send(cluster_.now(), args);
    EXPECT_TRUE(posted.ok());
    cluster_.touch(from);
    return posted.ok() ? posted.value() : core::Operation{};
  }
  // From any source if `from` is kNoNode.
  core::Operation receive(std::uint32_t node, std::uint32_t from, core::ReceiveArgs args) {
    if (from != Cluster::kNoNode) args.peer = cluster_.peer(node, from);
    if (args.communicator.is_none()) args.communicator = core::CommunicatorId{1};
    const auto posted = endpoint(node).receive(cluster_.now(), args);
    EXPECT_TRUE(posted.ok());
    cluster_.touch(node);
    return posted.ok() ? posted.value() : core::Operation{};
  }

  template <class Predicate>
  bool run_until(Predicate predicate, Duration limit = seconds(10)) {
    const Instant end = cluster_.now() + limit;
    while (!predicate()) {
      if (cluster_.next_at() > end || !cluster_.step()) return predicate();
    }
    return true;
  }
  void run_for(Duration duration) { cluster_.run_until(cluster_.now() + duration); }

  const std::vector<core::Completion>& completions(std::uint32_t node) const {
    return completions_[node];
  }
  const std::vector<core::Event>& events(std::uint32_t node) const { return events_[node]; }
  std::size_t count(std::uint32_t node, EventKind kind) const {
    std::size_t count = 0;
    for (const core::Event& event : events_[node]) count += event.kind == kind ? 1 : 0;
    return count;
  }
  std::optional<core::Completion> completion(std::uint32_t node, core::Operation operation) const {
    for (const core::Completion& done : completions_[node]) {
      if (done.operation == operation) return done;
    }
    return std::nullopt;
  }

 private:
  void on_completion(std::uint32_t node, const core::Completion& completion) override {
    completions_[node].push_back(completion);
  }
  void on_event(std::uint32_t node, const core::Event& event) override {
    events_[node].push_back(event);
  }
  void on_timer(std::uint64_t /*value*/) override {}

  Cluster cluster_;
  std::vector<std::vector<core::Completion>> completions_;
  std::vector<std::vector<core::Event>> events_;
};

}  // namespace zhinu::sim::test

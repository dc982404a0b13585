// The words of the transport core: ids, handles, arguments, results, events.
//
// Ownership: spans and pointers in arguments borrow the caller's memory until the
// completion of the posted item has been polled. Thread rule: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/traffic_class.h"

namespace zhinu::core {

using PeerId = Id<struct PeerTag>;                                 // index in this endpoint
using CommunicatorId = Id<struct CommunicatorTag, std::uint16_t>;  // same on all its ranks

// Where a datagram goes or came from, opaque to the core: the driver's own
// encoding (an IP address and port, a simulated node), compared byte by byte.
struct Address {
  std::array<std::byte, 24> bytes{};

  // Compared for every packet that arrives.
  friend bool operator==(const Address& a, const Address& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) == 0;
  }
};

// One direction from a NIC here to a NIC there. `key` is what the fabric hashes
// (UDP source port, flow label); the driver knows how to apply it. Paths with
// different `group` share no link that is known of: on suspicion the endpoint
// asks paths of other groups first.
struct PathConfig {
  Address remote;
  std::uint8_t nic = 0;
  std::uint8_t group = 0;
  std::uint16_t key = 0;
  std::uint16_t weight = 256;  // base share, 256 = 1.0; 0 = standby only
  std::uint32_t packet_bytes_max = 8'972;
};

enum class PathState : std::uint8_t { kGood, kSuspect, kDead, kHeld, kProbing };

constexpr const char* name_of(PathState state) {
  switch (state) {
    case PathState::kGood: return "good";
    case PathState::kSuspect: return "suspect";
    case PathState::kDead: return "dead";
    case PathState::kHeld: return "held";
    case PathState::kProbing: return "probing";
  }
  return "unknown";
}

// A posted item. Valid until its completion was polled; later uses are refused
// with kUnknownOperation (the generation differs).
struct Operation {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
  bool receives = false;  // receive and read live in one pool, send and write in the other

  friend bool operator==(const Operation&, const Operation&) = default;
};

enum class OperationKind : std::uint8_t { kSend, kReceive, kWrite, kRead };

struct SendArgs {
  PeerId peer;
  TrafficClass traffic_class = TrafficClass::kGradient;  // not kControl
  CommunicatorId communicator;
  std::uint32_t tag = 0;     // with a digest: 16 bits
  std::uint32_t digest = 0;  // 24 bits of (operation, type, count, schedule); 0 = none
  ByteSpan data;             // zero length is legal
  Instant deadline = Instant::never();
  std::uint64_t user = 0;  // given back in the completion
};

struct ReceiveArgs {
  PeerId peer;  // none() = any source
  TrafficClass traffic_class = TrafficClass::kGradient;
  CommunicatorId communicator;
  std::uint32_t tag = 0;
  std::uint32_t digest = 0;  // must equal the sender's, else both learn of the mismatch
  MutableByteSpan buffer;
  Instant deadline = Instant::never();
  std::uint64_t user = 0;
};

// Random and revocable; tells nothing about the memory behind it.
struct RegionKey {
  std::uint64_t value = 0;

  friend bool operator==(RegionKey, RegionKey) = default;
};

struct RegionAccess {
  bool remote_read = false;
  bool remote_write = false;
};

struct WriteArgs {
  PeerId peer;
  TrafficClass traffic_class = TrafficClass::kWeights;
  CommunicatorId communicator;
  ByteSpan data;
  RegionKey region;
  std::uint64_t offset = 0;
  bool notify = false;  // the target gets an event with `immediate` when all bytes lie there
  // Its notification comes after those of the ordered writes posted before it to this peer, in
  // this class, on this communicator.
  bool ordered = false;
  std::uint32_t immediate = 0;
  Instant deadline = Instant::never();
  std::uint64_t user = 0;
};

struct ReadArgs {
  PeerId peer;
  TrafficClass traffic_class = TrafficClass::kWeights;
  CommunicatorId communicator;
  MutableByteSpan buffer;
  RegionKey region;
  std::uint64_t offset = 0;
  Instant deadline = Instant::never();
  std::uint64_t user = 0;
};

// The one terminal result of a posted item.
struct Completion {
  Operation operation;
  OperationKind kind = OperationKind::kSend;
  Errc status = Errc::kOk;
  std::uint64_t user = 0;
  std::uint64_t bytes = 0;  // received or sent; of the message when status is kTruncated
  PeerId peer;              // the source, for a receive
  std::uint32_t tag = 0;
  std::uint32_t own_digest = 0;  // with kDigestMismatch: both sides
  std::uint32_t peer_digest = 0;
};

enum class EventKind : std::uint8_t {
  kPeerUp,        // handshake done, and the peer heard in the new session
  kPeerDown,      // `code` says why; every item of the peer has its terminal result
  kPeerSilent,    // nothing heard for a while though something is due; traffic goes on trying
  kPathChanged,   // `path` went from `old_state` to `new_state`
  kAborted,       // `communicator`, here or by a peer; ranks and digests name both sides
  kNotification,  // a write with notification lies in memory
};

struct Event {
  EventKind kind = EventKind::kPeerUp;
  Instant at;
  PeerId peer;
  CommunicatorId communicator;
  Errc code = Errc::kOk;
  std::uint8_t path = 0;
  PathState old_state = PathState::kGood;
  PathState new_state = PathState::kGood;
  TrafficClass traffic_class = TrafficClass::kControl;
  std::uint32_t immediate = 0;      // notification
  RegionKey region;                 // notification
  std::uint64_t offset = 0;         // notification: in the region
  std::uint64_t bytes = 0;          // notification
  std::uint32_t reporter_rank = 0;  // aborted: who saw the fault
  std::uint32_t other_rank = 0;     // aborted: whom it disagreed with
  std::uint32_t reporter_digest = 0;
  std::uint32_t other_digest = 0;
};

}  // namespace zhinu::core

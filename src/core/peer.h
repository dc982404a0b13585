// A peer and its flows: everything the endpoint keeps for one other process.
//
// Internal to src/core. A flow is (peer, class); thousands of communicators share
// its window, and all flows of a peer share its paths and ACK stream (design
// decision 2). Idle budgets: flow 1 KiB, path 256 bytes each direction.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/handshake.h"
#include "core/in_path_pool.h"
#include "core/number_set.h"
#include "core/number_window.h"
#include "core/path_table.h"
#include "core/records.h"
#include "core/window.h"

namespace zhinu::core {

using SendBulkList = SlotList<SendRecord, &SendRecord::list_next, &SendRecord::list_previous>;
using ReceiveList =
    SlotList<ReceiveRecord, &ReceiveRecord::list_next, &ReceiveRecord::list_previous>;
using GrantList =
    SlotList<ReceiveRecord, &ReceiveRecord::grant_next, &ReceiveRecord::grant_previous>;
using UnexpectedList = SlotList<Unexpected, &Unexpected::list_next, &Unexpected::list_previous>;
using SentQueue = SlotQueue<SentPacket, &SentPacket::next>;

struct Flow {
  explicit Flow(const WindowOptions& options) : window(options) {}

  // For a new session of the peer: numbers and window start over. The flow holds no record
  // any more; its place in rings stays.
  void restart(const WindowOptions& options) {
    incoming = NumberWindow();
    outgoing = NumberWindow();
    not_held = NumberSet();
    window = Window(options);
    next_number = 0;
    void_end = 0;
    pace_resends = false;
    resend_waits = false;
    cached_receive = kNoSlot;
    has_notified = false;
    small_streak = 0;
  }

  // What the peer's `number` was itself behind is not known to those behind it.
  void give_up(std::uint64_t number) { void_end = std::max(void_end, number + 1); }

  NumberWindow incoming;  // message numbers of the peer that were seen here
  NumberWindow outgoing;  // our message numbers that the peer took
  NumberSet not_held;     // numbers of the peer that must be announced to be taken
  Window window;
  std::uint64_t next_number = 0;
  SentQueue lost;     // packets whose contents must be sent again
  Instant resend_at;  // pace of what a dead path left behind
  bool pace_resends = false;
  bool resend_waits = false;                         // for `resend_at`, and for nothing else
  SlotQueue<Channel, &Channel::ring_next> channels;  // with something queued
  SendBulkList bulk;                                 // granted messages with bytes to send
  std::uint64_t void_end = 0;       // above every number that was given up before its turn
  UnexpectedList parked;            // messages that wait for an earlier one
  ReceiveList incoming_messages;    // messages that arrive and want grants
  std::uint64_t cached_number = 0;  // last incoming granted message, found without a look-up
  std::uint32_t cached_receive = kNoSlot;
  bool has_notified = false;
  std::uint64_t last_notified = 0;  // the peer's newest write whose ordered notification is out
  std::uint32_t small_streak = 0;   // packets of small messages in a row while bulk waits
  std::uint64_t turn_bytes = 0;     // left of this flow's turn in its class
  FlowId ring_next;                 // endpoint's ring of the class
  bool in_ring = false;
  FlowId grant_ring_next;  // granter's ring
  bool in_grant_ring = false;
};
static_assert(sizeof(Flow) <= 1024, "budget of an idle (peer, class)");

// Packets under way on one out path. With the path's own state at most 256 bytes.
struct PathFlight {
  SentQueue sent;  // ascending by number
  std::uint64_t largest_acked = 0;
  Instant last_sent_at;  // of packets that elicit an ACK
  Instant loss_at = Instant::never();
  std::uint32_t ecn_seen = 0;        // peer's cumulative mark count that was used
  std::uint32_t eliciting : 24 = 0;  // packets in `sent` that are not skips
  std::uint32_t probe_backoff : 6 = 0;
  bool any_acked : 1 = false;
  bool probe_wanted : 1 = false;  // a probe time-out fired: send something that elicits an ACK
};

enum class PeerState : std::uint8_t {
  kConnecting,
  kProving,  // there are keys, but the peer was not heard in the session: it may not have it
  kUp,
  kClosed,
};

struct Peer {
  Peer(const EndpointOptions& options, std::uint64_t seed)
      : paths(options.path, options.initial_rtt, options.train_bytes, options.paths_max, seed),
        flows{Flow(options.window), Flow(options.window), Flow(options.window),
              Flow(options.window)} {}

  Flow& flow(TrafficClass traffic_class) {
    ZHINU_ASSERT(traffic_class != TrafficClass::kControl);
    return flows[index_of(traffic_class) - 1];
  }

  bool has_session() const { return state == PeerState::kUp || state == PeerState::kProving; }
  void reserve_paths(std::size_t count) {
    paths.reserve(count);
    flights.reserve(count);
  }
  Result<std::uint8_t> add_path(const PathConfig& config) {
    const auto added = paths.add(config);
    if (added.ok()) flights.emplace_back();
    return added;
  }

  PeerId id;
  std::uint32_t rank = 0;
  PeerState state = PeerState::kConnecting;
  PathTable paths;
  std::vector<PathFlight> flights;        // one per out path
  InPaths in_paths{};                     // made by the first packet of each
  std::uint32_t in_path_count = 0;        // their indices are below
  std::uint64_t ack_mask = 0;             // in paths that owe an ACK
  Instant ack_due_at = Instant::never();  // earliest of their deadlines
  std::array<Flow, kTrafficClasses - 1> flows;

  std::optional<Initiator> initiator;
  std::uint64_t attempt_connection = 0;  // id of the initiator's attempt; 0 = none
  std::uint8_t hello_path = 0;           // path of the last hello
  bool hello_unanswered = false;
  bool hello_due = false;
  Instant answered_at;  // the attempt, the last time; else when it began
  Established session;  // valid while has_session()
  Instant session_at;   // when it began here
  bool had_session = false;
  std::optional<Established> next_session;  // a restarted peer, until its first sealed packet
  wire::HandshakePacket welcome;            // last WELCOME, repeated for a repeated HELLO
  std::uint64_t welcome_for = 0;            // source connection of that HELLO; 0 = none
  std::uint64_t welcome_incarnation = 0;    // and the incarnation it came from

  // Control frames to send.
  GrantList grants;
  SendBulkList cancels;
  SlotQueue<Channel, &Channel::credit_next> credits;
  SlotQueue<Refusal, &Refusal::next> refusals;
  std::uint32_t refusal_count = 0;
  std::uint32_t refusal_sequence = 0;  // given to the next one
  std::uint32_t packet_refusals = 0;   // sequence of the first of the packet at hand
  SlotQueue<Refusal, &Refusal::next> endings;
  std::uint32_t ending_sequence = 0;  // given to the next one
  std::uint32_t endings_sent_to = 0;  // sequences below are under way
  bool aborts_due = false;            // some aborted communicator, of which it must hear
  struct ProbeAnswer {
    std::uint64_t challenge = 0;
    std::uint8_t path = 0;
  };
  // Grants for messages that have ended and are announced again; of more, the sender asks again.
  struct RetiredGrant {
    TrafficClass traffic_class = TrafficClass::kControl;
    std::uint32_t token = 0;
    std::uint64_t number = 0;
  };
  static constexpr std::uint32_t kRetiredGrantsMax = 8;
  std::array<RetiredGrant, kRetiredGrantsMax> retired_grants;
  std::uint32_t retired_grant_count = 0;
  static constexpr std::uint32_t kProbeAnswersMax = 4;
  std::array<ProbeAnswer, kProbeAnswersMax> probe_answers;
  std::uint32_t probe_answer_count = 0;
  Instant credit_probe_at = Instant::never();  // earliest zero-window probe of its channels
  std::optional<Errc> close_code;              // a CLOSE to send
  std::uint8_t close_repeats = 0;
  Instant close_again_at = Instant::never();  // closed here: a packet from then on hears it again

  std::uint64_t held_bytes = 0;
  std::uint32_t eliciting = 0;            // packets under way on all paths that elicit an ACK
  std::optional<Address> former_address;  // that the last out paths to move led to before
  Instant last_heard;
  Instant owed_since = Instant::never();  // since when an answer of the peer is due
  bool silent_told = false;

  // Timer bookkeeping of the endpoint.
  Instant timer = Instant::never();
  bool timer_dirty = false;
  bool in_control_ring = false;
  PeerId control_ring_next;
};

}  // namespace zhinu::core

// Every limit and interval of an endpoint, with the reason for its value.
//
// Plain values, set before construction and printed by whoever builds the
// endpoint. Two kinds of memory: idle state (budgets of design decision 10) and
// the in-flight arena, which is allocated once at construction from the `*_max`
// pool sizes below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "wire/handshake_packet.h"
#include "wire/traffic_class.h"

namespace zhinu::core {

// How a path is judged and left. Shared by all paths of an endpoint.
struct PathOptions {
  // Silence is suspicious after max(4 RTT, this): long enough for a receiver that
  // delays its ACKs and is descheduled for a moment.
  Duration suspicion_floor = milliseconds(1);
  // A suspect path that did not answer its probe within max(2 RTT, this) while
  // others answered is dead.
  Duration probe_timeout_floor = milliseconds(1);
  // Hold-down of a dead path: doubles at each relapse, is forgotten after calm.
  Duration hold_first = seconds(1);
  Duration hold_max = seconds(60);
  Duration calm = seconds(600);
  // Probes that must be answered in a row, each of full packet size, before a
  // returned path carries data.
  std::uint32_t probes_to_return = 8;
  // Share in steps of 1/8, each after this many RTT without a loss.
  std::uint32_t ramp_rtts = 16;
  // Random gap between deliberately skipped packet numbers (optimistic ACKs).
  std::uint32_t skip_packets_min = 64;
  std::uint32_t skip_packets_max = 512;
};

struct WindowOptions {
  std::uint64_t initial_bytes = 512 * 1024;
  std::uint64_t min_bytes = 16 * 1024;
  std::uint64_t max_bytes = 64 * 1024 * 1024;
  // Queueing delay (RTT above the smallest seen) the sender aims at.
  Duration target_delay = microseconds(50);
};

// With fewer, what is kept for control and for repeats leaves none for data.
inline constexpr std::uint32_t kSentPacketsMin = 8;

// Every pool may be small, and most may be empty. What is too small for anything to happen is a
// mistake of the owner, which the endpoint's constructor asserts: fewer than kSentPacketsMin
// packets; no channel, segment map, announcement, path or train; a class without weight.
struct EndpointOptions {
  PathOptions path;
  WindowOptions window;

  // In-flight arena: pool sizes.
  // (The peers' reads and writes have a few records beside those that are posted here.)
  std::uint32_t sends_max = 8'192;          // posted sends and writes, answers to reads
  std::uint32_t receives_max = 8'192;       // posted receives and reads, incoming messages
  std::uint32_t sent_packets_max = 16'384;  // unacknowledged packets, at least kSentPacketsMin
  std::uint32_t channels_max = 1'024;       // (peer, class, communicator) with something queued
  std::uint32_t held_blocks_max = 4'096;    // blocks of 512 B for messages without a receive
  std::uint32_t segment_maps_max = 128;     // granted messages that arrive at the same time
  std::uint32_t refusals_max = 1'024;       // refusals not yet known to the senders
  std::uint32_t events_max = 1'024;
  std::uint32_t regions_max = 1'024;
  std::uint32_t peers_max = 1'024;
  std::uint32_t paths_max = 64;        // per peer and direction
  std::uint32_t in_paths_max = 7'168;  // that peers send on, beside one of each peer

  // Small messages go without asking.
  std::uint32_t eager_bytes_max = 8'192;
  // Bytes of unexpected messages held for one peer, beyond the communicators' reserve.
  std::uint32_t eager_budget_bytes = 256 * 1024;
  // Held for a communicator even when the peer's budget is used up by others.
  std::uint32_t communicator_reserve_bytes = 1'024;
  // Messages announced and not granted, per channel: bounds what a receiver remembers.
  std::uint32_t announced_max = 16;

  // Granted and not yet arrived, over all senders: about one bandwidth-delay
  // product of the port. The owner sets it from link rate and RTT when it knows.
  std::uint64_t grant_window_bytes = 1024 * 1024;
  // Bytes a sender may send behind the announcement when buffer credit covers it.
  std::uint64_t unscheduled_bytes = 64 * 1024;
  // Span of one message that may be in flight: sizes the segment maps.
  std::uint64_t message_span_bytes = 2 * 1024 * 1024;

  // Packets that leave together on one path, in bytes: about 200 us of it at most.
  std::uint32_t train_bytes = 64 * 1024;

  // Share of the classes under contention (deficit round robin; control is first).
  std::array<std::uint16_t, kTrafficClasses> class_weights{0, 64, 64, 16, 16};

  // An ACK waits for data to ride on, but not longer, and not for more than this.
  Duration ack_delay = microseconds(20);
  std::uint32_t ack_bytes_max = 128 * 1024;
  // Without an RTT sample yet.
  Duration initial_rtt = milliseconds(1);
  Duration probe_timeout_max = seconds(1);
  // Zero-window probe: first, then doubling.
  Duration credit_probe_first = milliseconds(10);
  Duration credit_probe_max = seconds(1);
  // A peer that owes an answer and is silent.
  Duration silent_notice = seconds(5);
  Duration peer_timeout = seconds(120);

  // Handshake.
  std::uint8_t version_min = wire::kVersionMin;
  std::uint8_t version_max = wire::kVersionMax;
  Duration hello_interval_first = milliseconds(20);
  Duration hello_interval_max = seconds(1);
  Duration cookie_lifetime = seconds(10);
  // Keys are replaced after this many packets or this long (design decision 15).
  std::uint64_t rekey_packets = 1ULL << 32;
  Duration rekey_interval = seconds(24 * 3600);

  std::uint32_t packet_bytes_max = 9'216;  // largest packet this endpoint takes
};

}  // namespace zhinu::core

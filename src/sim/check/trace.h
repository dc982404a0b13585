// What happens in a run as lines of text: packets with their frames, results, events.
//
// For a person who looks into a scenario that fails. Off, it costs one comparison per
// packet. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "core/endpoint.h"

namespace zhinu::sim::check {

// Takes one line without a line end.
using TraceSink = std::function<void(const std::string&)>;

// "0.000123456 n0 > n1 gradient path 0 #17: message 3 (128 B), ack 0..4"
std::string trace_packet(Duration at, std::uint32_t from, std::uint32_t to,
                         const core::Transmit& transmit);
std::string trace_completion(Duration at, std::uint32_t node, const std::string& item,
                             const core::Completion& completion);
std::string trace_event(Duration at, std::uint32_t node, std::uint32_t peer,
                        const core::Event& event);
// Anything else: posts, faults, phases.
std::string trace_note(Duration at, const std::string& note);

}  // namespace zhinu::sim::check

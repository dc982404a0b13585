// The invariants of the transport, by name, and how a run tells that one was broken.
//
// A run stops at the first breach: what follows would be its consequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace zhinu::sim::check {

enum class Invariant : std::uint8_t {
  kBytesRight,                // every delivered byte is the byte that was sent
  kOneCompletion,             // never two completions for an item, never one for nothing
  kResultAllowed,             // a result that the scenario gives cause for
  kNothingAfterCompletion,    // memory that was given back is not written again
  kNoResendFromChanged,       // no payload leaves from memory that was given back
  kNonceUnique,               // a packet number of a path is used once per connection
  kDeadPathSilent,            // only probes on a path that is dead, held or probing
  kOrderKept,                 // per communicator, class, tag and source
  kDeliveredOnce,             // no message reaches two receives
  kNotificationRight,         // once, after the bytes, in order where order was asked for
  kDeadlineKept,              // a deadline ends its item, not before and soon after
  kCommunicatorsIndependent,  // others that never post block nobody
  kCompletionAfterHeal,       // everything that can end ends after the faults
  kBudgetKept,                // idle memory per endpoint, flow, path, communicator
  kCountersSane,              // counters agree with what the network saw
  kBoundedWork,               // a run ends: no storm of packets or time-outs
  kSameHash,                  // the second run is the first one
  kNoCrash,                   // no assertion, no signal, no endless loop
};
inline constexpr std::size_t kInvariants = static_cast<std::size_t>(Invariant::kNoCrash) + 1;

inline constexpr std::array<std::string_view, kInvariants> kInvariantNames = {
    "bytes_right",
    "exactly_one_completion",
    "result_allowed",
    "nothing_written_after_completion",
    "no_resend_from_changed_buffer",
    "nonce_unique",
    "dead_path_silent",
    "order_kept",
    "delivered_once",
    "notification_right",
    "deadline_kept",
    "communicators_independent",
    "completion_after_heal",
    "budget_kept",
    "counters_sane",
    "bounded_work",
    "same_hash",
    "no_crash",
};

constexpr std::string_view name_of(Invariant invariant) {
  return kInvariantNames[static_cast<std::size_t>(invariant)];
}

inline std::optional<Invariant> find_invariant(std::string_view name) {
  for (std::size_t i = 0; i < kInvariants; ++i)
    if (kInvariantNames[i] == name) return static_cast<Invariant>(i);
  return std::nullopt;
}

struct Failure {
  Invariant invariant = Invariant::kNoCrash;
  std::string detail;  // expected and found, in one line
  Duration at;         // since the start of the run
};

// Where the checks of one run report to. Keeps the first failure.
class Verdict {
 public:
  bool failed() const { return failure_.has_value(); }
  const std::optional<Failure>& failure() const { return failure_; }
  void fail(Invariant invariant, Duration at, std::string detail) {
    if (!failure_) failure_ = Failure{invariant, std::move(detail), at};
  }

 private:
  std::optional<Failure> failure_;
};

}  // namespace zhinu::sim::check

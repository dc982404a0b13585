// A communicator on this endpoint: posted receives and messages that wait for one.
//
// Internal to src/core. Receives match messages in the order of posting among
// equal (source, tag), messages match in the order of sending per source, class
// and tag. At most 4 KiB. Thread rule: the endpoint's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/peer.h"
#include "core/records.h"

namespace zhinu::core {

struct Communicator {
  static constexpr std::uint32_t kBuckets = 64;

  static std::uint32_t bucket_of(std::uint32_t tag, bool has_digest) {
    const std::uint32_t x = (tag * 0x9e3779b1U) ^ (has_digest ? 0x80000000U : 0U);
    return x >> 26;
  }

  CommunicatorId id;
  Communicator* aborted_next = nullptr;  // endpoint's list of aborted ones
  // The channel that was looked up last: it saves the hash look-up in a steady exchange.
  Channel* cached_channel = nullptr;
  bool aborted = false;
  bool abort_asked = false;  // and will be when the call at hand is done
  Errc abort_code = Errc::kOk;
  std::uint32_t abort_reporter = 0;  // rank
  std::uint32_t abort_other = 0;
  std::uint32_t abort_reporter_digest = 0;
  std::uint32_t abort_other_digest = 0;
  std::vector<std::uint64_t> abort_told;  // bit per peer: the peer acknowledged the abort
  std::vector<std::uint64_t> abort_sent;  // bit per peer: it is under way
  std::uint64_t held_bytes = 0;
  std::uint32_t posted_count = 0;
  std::uint32_t unexpected_count = 0;
  std::array<ReceiveList, kBuckets> posted;
  std::array<UnexpectedList, kBuckets> unexpected;
};
static_assert(sizeof(Communicator) <= 4096 - 512, "budget of a communicator, with its bit sets");

}  // namespace zhinu::core

// What has happened in a run so far that gives cause for results: restarts, closes,
// aborts, time-outs. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/check/scenario.h"

namespace zhinu::sim::check {

class History {
 public:
  explicit History(const Scenario& scenario)
      : nodes_(scenario.fabric.nodes),
        pairs_(std::size_t{nodes_} * nodes_),
        ended_(scenario.communicators, false) {
    for (const core::EndpointOptions& options : scenario.endpoints)
      peers_time_out_ |= options.peer_timeout < kNoTimeOut;
  }

  void on_restart(std::uint32_t node) {
    for (std::uint32_t other = 0; other < nodes_; ++other) {
      for (const std::size_t pair : {index(node, other), index(other, node)}) {
        pairs_[pair].restarted = true;
        pairs_[pair].apart = false;
      }
    }
  }
  void on_close(std::uint32_t a, std::uint32_t b) {
    pairs_[index(a, b)].closed = true;
    pairs_[index(b, a)].closed = true;
  }
  // One of them waits in a session with a process that is gone, and the process that came after
  // does not reach it, as it was closed or the other moved meanwhile. That lasts until the one
  // that waits gives up, after the peer time-out, which is longer than a run.
  void on_apart(std::uint32_t a, std::uint32_t b) {
    pairs_[index(a, b)].apart = true;
    pairs_[index(b, a)].apart = true;
  }
  void on_met(std::uint32_t a, std::uint32_t b) {
    pairs_[index(a, b)].apart = false;
    pairs_[index(b, a)].apart = false;
  }
  void on_communicator_ended(std::uint32_t communicator) { ended_[communicator] = true; }
  // From here on the check itself cancels what is left.
  void on_cancel_all() { all_cancelled_ = true; }

  bool restarted(std::uint32_t a, std::uint32_t b) const { return pairs_[index(a, b)].restarted; }
  bool closed(std::uint32_t a, std::uint32_t b) const { return pairs_[index(a, b)].closed; }
  bool apart(std::uint32_t a, std::uint32_t b) const { return pairs_[index(a, b)].apart; }
  // The connection of the pair may have ended, for whatever reason.
  bool broken(std::uint32_t a, std::uint32_t b) const {
    return restarted(a, b) || closed(a, b) || peers_time_out_;
  }
  bool any_broken(std::uint32_t node) const {
    for (std::uint32_t other = 0; other < nodes_; ++other)
      if (broken(node, other)) return true;
    return false;
  }
  bool peers_time_out() const { return peers_time_out_; }
  bool communicator_ended(std::uint32_t communicator) const { return ended_[communicator]; }
  bool all_cancelled() const { return all_cancelled_; }

 private:
  struct PairHistory {
    bool restarted = false;
    bool closed = false;
    bool apart = false;
  };
  // No run lasts as long as this, so that a longer time-out never happens.
  static constexpr Duration kNoTimeOut = seconds(60);

  std::size_t index(std::uint32_t a, std::uint32_t b) const { return std::size_t{a} * nodes_ + b; }

  std::uint32_t nodes_;
  std::vector<PairHistory> pairs_;
  std::vector<bool> ended_;
  bool peers_time_out_ = false;
  bool all_cancelled_ = false;
};

}  // namespace zhinu::sim::check

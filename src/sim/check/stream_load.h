// Senders that keep a receiver busy, and one that pings it: the load of the figures.
//
// Each sender has `outstanding` messages under way to the receiver, which has as many
// receives posted for it. A prober sends small messages at fixed intervals and notes
// how long each takes. Contents do not matter here. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/net/cluster.h"

namespace zhinu::sim::check {

struct StreamLoadOptions {
  std::vector<std::uint32_t> senders;  // nodes
  std::uint32_t receiver = 0;
  std::uint32_t prober = Cluster::kNoNode;
  std::uint64_t message_bytes = 0;
  std::uint32_t outstanding = 1;
  Duration probe_interval = microseconds(200);
  std::uint32_t disjoint_paths = 0;  // to and from the receiver; 0: by the cluster's options
};

class StreamLoad : public Owner {
 public:
  explicit StreamLoad(const StreamLoadOptions& options);

  // All nodes are started and connected by this; the load begins at once.
  void begin(Cluster& cluster);
  // Forgets what was counted so far.
  void reset();

  const std::vector<std::uint64_t>& received_bytes() const { return received_bytes_; }
  std::uint64_t total_bytes() const;
  // Sorted.
  std::vector<std::int64_t> probe_times_ns() const;

 private:
  void on_completion(std::uint32_t node, const core::Completion& completion) override;
  void on_event(std::uint32_t /*node*/, const core::Event& /*event*/) override {}
  void on_timer(std::uint64_t value) override;
  void connect(std::uint32_t from, std::uint32_t to);
  void post_send(std::uint32_t sender);
  void post_receive(std::uint32_t sender, std::uint32_t slot);
  void post_probe();

  StreamLoadOptions options_;
  Cluster* cluster_ = nullptr;
  std::vector<std::byte> payload_;
  std::vector<std::vector<std::byte>> buffers_;  // sender * outstanding + slot
  std::vector<std::byte> probe_buffer_;
  std::vector<std::uint64_t> received_bytes_;  // by sender
  std::vector<std::int64_t> probe_times_ns_;
  Instant probe_posted_at_;
};

}  // namespace zhinu::sim::check

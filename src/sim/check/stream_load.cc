#include "sim/check/stream_load.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace zhinu::sim::check {
namespace {

constexpr core::CommunicatorId kLoadCommunicator{1};
constexpr core::CommunicatorId kProbeCommunicator{2};
constexpr std::size_t kProbeBytes = 64;
constexpr std::uint64_t kProbeTimer = 1;
constexpr std::uint64_t kProbeUser = UINT64_MAX;

}  // namespace

StreamLoad::StreamLoad(const StreamLoadOptions& options)
    : options_(options),
      payload_(options.message_bytes),
      buffers_(options.senders.size() * options.outstanding),
      probe_buffer_(kProbeBytes),
      received_bytes_(options.senders.size()) {
  for (auto& buffer : buffers_) buffer.resize(options.message_bytes);
}

void StreamLoad::begin(Cluster& cluster) {
  cluster_ = &cluster;
  for (std::uint32_t node = 0; node < cluster.nodes(); ++node) {
    cluster.start(node);
    const Status load = cluster.endpoint(node).create_communicator(kLoadCommunicator);
    const Status probe = cluster.endpoint(node).create_communicator(kProbeCommunicator);
    ZHINU_ASSERT(load.ok() && probe.ok());
  }
  for (std::uint32_t node = 0; node < cluster.nodes(); ++node) {
    if (node == options_.receiver) continue;
    connect(node, options_.receiver);
    connect(options_.receiver, node);
  }
  for (std::uint32_t sender = 0; sender < options_.senders.size(); ++sender) {
    for (std::uint32_t slot = 0; slot < options_.outstanding; ++slot) {
      post_receive(sender, slot);
      post_send(sender);
    }
  }
  if (options_.prober != Cluster::kNoNode) post_probe();
}

void StreamLoad::connect(std::uint32_t from, std::uint32_t to) {
  if (options_.disjoint_paths == 0) {
    cluster_->connect(from, to);
  } else {
    cluster_->connect(from, to, cluster_->disjoint_paths(from, to, options_.disjoint_paths));
  }
}

void StreamLoad::reset() {
  std::fill(received_bytes_.begin(), received_bytes_.end(), 0);
  probe_times_ns_.clear();
}

std::uint64_t StreamLoad::total_bytes() const {
  return std::accumulate(received_bytes_.begin(), received_bytes_.end(), std::uint64_t{0});
}

std::vector<std::int64_t> StreamLoad::probe_times_ns() const {
  std::vector<std::int64_t> sorted = probe_times_ns_;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

void StreamLoad::on_completion(std::uint32_t node, const core::Completion& completion) {
  ZHINU_ASSERT(completion.status == Errc::kOk);
  if (completion.user == kProbeUser) {
    if (node != options_.receiver) return;
    probe_times_ns_.push_back((cluster_->now() - probe_posted_at_).ns);
    cluster_->call_at(probe_posted_at_ + options_.probe_interval, kProbeTimer);
    return;
  }
  const auto sender = static_cast<std::uint32_t>(completion.user >> 32);
  if (completion.kind == core::OperationKind::kSend) return post_send(sender);
  received_bytes_[sender] += completion.bytes;
  post_receive(sender, static_cast<std::uint32_t>(completion.user));
}

void StreamLoad::on_timer(std::uint64_t /*value*/) { post_probe(); }

void StreamLoad::post_send(std::uint32_t sender) {
  const std::uint32_t node = options_.senders[sender];
  core::SendArgs args;
  args.peer = cluster_->peer(node, options_.receiver);
  args.communicator = kLoadCommunicator;
  args.data = payload_;
  args.user = std::uint64_t{sender} << 32;
  const auto posted = cluster_->endpoint(node).send(cluster_->now(), args);
  ZHINU_ASSERT(posted.ok());
  cluster_->touch(node);
}

void StreamLoad::post_receive(std::uint32_t sender, std::uint32_t slot) {
  core::ReceiveArgs args;
  args.peer = cluster_->peer(options_.receiver, options_.senders[sender]);
  args.communicator = kLoadCommunicator;
  args.buffer = buffers_[sender * options_.outstanding + slot];
  args.user = std::uint64_t{sender} << 32 | slot;
  const auto posted = cluster_->endpoint(options_.receiver).receive(cluster_->now(), args);
  ZHINU_ASSERT(posted.ok());
  cluster_->touch(options_.receiver);
}

void StreamLoad::post_probe() {
  probe_posted_at_ = cluster_->now();
  core::ReceiveArgs receive;
  receive.peer = cluster_->peer(options_.receiver, options_.prober);
  receive.communicator = kProbeCommunicator;
  receive.buffer = probe_buffer_;
  receive.user = kProbeUser;
  core::SendArgs send;
  send.peer = cluster_->peer(options_.prober, options_.receiver);
  send.communicator = kProbeCommunicator;
  send.data = ByteSpan(payload_).first(kProbeBytes);
  send.user = kProbeUser;
  const auto received = cluster_->endpoint(options_.receiver).receive(cluster_->now(), receive);
  const auto sent = cluster_->endpoint(options_.prober).send(cluster_->now(), send);
  ZHINU_ASSERT(received.ok() && sent.ok());
  cluster_->touch(options_.receiver);
  cluster_->touch(options_.prober);
}

}  // namespace zhinu::sim::check

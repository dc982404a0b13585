#include "sim/check/figures.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "sim/check/stream_load.h"

namespace zhinu::sim::check {
namespace {

constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kLinksPerPath = 4;
// A leaf has more capacity than a port, so that the port is what is scarce.
constexpr std::uint64_t kUplinkFactor = 4;
constexpr std::uint64_t kQueueProducts = 4;  // bandwidth-delay products that a port can queue
// A host does not lose what it has not sent: its queue is memory.
constexpr std::uint64_t kNicQueueBytes = 16 << 20;

// What a port carries during a round trip of a full packet and a short answer.
std::uint64_t bandwidth_delay_bytes(std::uint64_t bits_per_s, Duration link_delay) {
  const std::uint64_t propagation_ns =
      2 * kLinksPerPath * static_cast<std::uint64_t>(link_delay.ns);
  const std::uint64_t packet_bits = ClusterOptions{}.packet_bytes_max * kBitsPerByte;
  const std::uint64_t sending_ns = kLinksPerPath * packet_bits * kNsPerSecond / bits_per_s;
  return bits_per_s / kBitsPerByte * (propagation_ns + sending_ns) / kNsPerSecond;
}

ClusterOptions cluster_options(std::uint32_t nodes, std::uint64_t bits_per_s, Duration link_delay,
                               std::uint64_t seed) {
  const std::uint64_t product = bandwidth_delay_bytes(bits_per_s, link_delay);
  ClusterOptions options;
  options.fabric.nodes = nodes;
  options.fabric.spines = 4;
  options.fabric.host_link = {.rate_bits_per_s = bits_per_s,
                              .delay = link_delay,
                              .queue_bytes = kQueueProducts * product,
                              .ecn_bytes = product};
  options.fabric.spine_link = options.fabric.host_link;
  options.fabric.nic_queue_bytes = kNicQueueBytes;
  options.fabric.seed = seed;
  options.endpoints[0].grant_window_bytes = product;
  options.seed = seed;
  return options;
}

double microseconds_at(const std::vector<std::int64_t>& sorted_ns, std::size_t percent) {
  if (sorted_ns.empty()) return 0;
  const std::size_t index = std::min(sorted_ns.size() - 1, sorted_ns.size() * percent / 100);
  return static_cast<double>(sorted_ns[index]) / 1e3;
}

double ratio_of(std::uint64_t bytes, std::uint64_t bits_per_s, Duration time) {
  const double seconds = static_cast<double>(time.ns) / 1e9;
  return static_cast<double>(bytes * kBitsPerByte) / (static_cast<double>(bits_per_s) * seconds);
}

// (sum x)^2 / (n sum x^2)
double jain_index(const std::vector<std::uint64_t>& shares) {
  double sum = 0;
  double squares = 0;
  for (const std::uint64_t share : shares) {
    const auto x = static_cast<double>(share);
    sum += x;
    squares += x * x;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

StreamLoadOptions incast_load(const IncastOptions& options, std::uint32_t senders) {
  StreamLoadOptions load;
  for (std::uint32_t node = 0; node < senders; ++node) load.senders.push_back(node);
  load.receiver = options.senders;
  load.prober = options.senders + 1;
  load.message_bytes = options.message_bytes;
  load.outstanding = options.outstanding;
  return load;
}

double goodput(const PathLossOptions& options, std::uint32_t loss_ppm) {
  StreamLoadOptions load_options;
  load_options.senders = {0};
  load_options.receiver = 1;
  load_options.message_bytes = options.message_bytes;
  load_options.outstanding = options.outstanding;
  load_options.disjoint_paths = options.paths;
  StreamLoad load(load_options);
  ClusterOptions cluster_opts =
      cluster_options(2, options.port_bits_per_s, options.link_delay, options.seed);
  cluster_opts.fabric.spines = options.paths;
  // A message needs more than one product under way when some packets take a resend.
  cluster_opts.endpoints[0].grant_window_bytes = core::EndpointOptions{}.grant_window_bytes;
  Cluster cluster(cluster_opts, load);
  load.begin(cluster);
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  Fabric& fabric = cluster.fabric();
  fabric.set_faults(cluster.now(), fabric.leaf_up(fabric.leaf_of(0, 0), 0), faults);
  cluster.run_until(cluster.now() + options.warm_up);
  load.reset();
  cluster.run_until(cluster.now() + options.measured);
  return ratio_of(load.total_bytes(), options.port_bits_per_s, options.measured);
}

}  // namespace

IncastFigures incast(const IncastOptions& options) {
  ClusterOptions cluster_opts = cluster_options(options.senders + 2, options.port_bits_per_s,
                                                options.link_delay, options.seed);
  cluster_opts.fabric.spine_link.rate_bits_per_s *= kUplinkFactor;
  IncastFigures figures;
  {
    StreamLoad idle(incast_load(options, 0));
    Cluster cluster(cluster_opts, idle);
    idle.begin(cluster);
    cluster.run_until(cluster.now() + options.warm_up);
    idle.reset();
    cluster.run_until(cluster.now() + options.measured);
    figures.small_idle_p50_us = microseconds_at(idle.probe_times_ns(), 50);
    figures.small_idle_p99_us = microseconds_at(idle.probe_times_ns(), 99);
  }
  StreamLoad load(incast_load(options, options.senders));
  Cluster cluster(cluster_opts, load);
  load.begin(cluster);
  cluster.run_until(cluster.now() + options.warm_up);
  load.reset();
  cluster.run_until(cluster.now() + options.measured);
  figures.goodput_ratio = ratio_of(load.total_bytes(), options.port_bits_per_s, options.measured);
  figures.jain = jain_index(load.received_bytes());
  figures.small_p50_us = microseconds_at(load.probe_times_ns(), 50);
  figures.small_p99_us = microseconds_at(load.probe_times_ns(), 99);
  if (figures.small_idle_p99_us > 0)
    figures.small_p99_ratio = figures.small_p99_us / figures.small_idle_p99_us;
  figures.marked_packets = cluster.fabric().total().marked;
  figures.dropped_packets = cluster.fabric().total().queue_full;
  return figures;
}

PathLossFigures path_loss(const PathLossOptions& options) {
  PathLossFigures figures;
  figures.clean_ratio = goodput(options, 0);
  figures.lossy_ratio = goodput(options, options.loss_ppm);
  if (figures.clean_ratio > 0) figures.ratio = figures.lossy_ratio / figures.clean_ratio;
  return figures;
}

}  // namespace zhinu::sim::check

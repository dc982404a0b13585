// Incast and path loss in virtual time: the figures that the transport promises.
//
// Real endpoints with default options, but for the grant window: the owner of a port
// sets it to about one bandwidth-delay product, as he knows rate and round trip.
// Deterministic. Thread rule: none needed.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace zhinu::sim::check {

struct IncastOptions {
  std::uint32_t senders = 32;  // onto one port
  std::uint64_t port_bits_per_s = 100'000'000'000;
  Duration link_delay = microseconds(2);  // of each of the four links of a path
  std::uint64_t message_bytes = 256 * 1024;
  std::uint32_t outstanding = 2;  // messages of each sender
  Duration warm_up = milliseconds(5);
  Duration measured = milliseconds(20);
  std::uint64_t seed = 1;
};

struct IncastFigures {
  double goodput_ratio = 0;      // payload over what the port can carry
  double jain = 0;               // fairness over the senders' bytes: 1 = equal
  double small_idle_p50_us = 0;  // 64-byte messages from a node of its own, from post to receive
  double small_idle_p99_us = 0;
  double small_p50_us = 0;  // the same beside the incast
  double small_p99_us = 0;
  double small_p99_ratio = 0;
  std::uint64_t marked_packets = 0;
  std::uint64_t dropped_packets = 0;  // at full queues
};

IncastFigures incast(const IncastOptions& options);

// What is promised.
inline constexpr double kIncastGoodputMin = 0.9;
inline constexpr double kIncastJainMin = 0.9;
inline constexpr double kIncastSmallP99Max = 5;  // times idle
inline constexpr double kPathLossRatioMin = 0.8;

constexpr bool promise_kept(const IncastFigures& figures) {
  return figures.goodput_ratio >= kIncastGoodputMin && figures.jain >= kIncastJainMin &&
         figures.small_p99_ratio <= kIncastSmallP99Max;
}

struct PathLossOptions {
  std::uint32_t paths = 4;
  std::uint32_t loss_ppm = 50'000;  // on one of them
  std::uint64_t port_bits_per_s = 100'000'000'000;
  Duration link_delay = microseconds(2);
  std::uint64_t message_bytes = 1024 * 1024;
  std::uint32_t outstanding = 4;
  Duration warm_up = milliseconds(5);
  Duration measured = milliseconds(20);
  std::uint64_t seed = 1;
};

struct PathLossFigures {
  double clean_ratio = 0;  // goodput over the port's rate, without loss
  double lossy_ratio = 0;  // with loss
  double ratio = 0;        // lossy over clean
};

PathLossFigures path_loss(const PathLossOptions& options);

constexpr bool promise_kept(const PathLossFigures& figures) {
  return figures.ratio >= kPathLossRatioMin;
}

}  // namespace zhinu::sim::check

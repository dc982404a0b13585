// How many messages wait in each channel for a receive that nobody posted.
//
// A sender announces a bounded number of messages per (peer, class, communicator):
// behind that many without a receive, others of the channel wait by right. Thread
// rule: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/traffic_class.h"

namespace zhinu::sim::check {

class ChannelLoads {
 public:
  void clear() { loads_.clear(); }
  void add(std::uint32_t from, std::uint32_t to, std::uint32_t communicator,
           TrafficClass traffic_class) {
    const std::uint64_t key = key_of(from, to, communicator, traffic_class);
    const auto place = std::lower_bound(loads_.begin(), loads_.end(), Load{key, 0}, before);
    if (place != loads_.end() && place->key == key) {
      ++place->waiting;
    } else {
      loads_.insert(place, {key, 1});
    }
  }
  std::uint32_t waiting(std::uint32_t from, std::uint32_t to, std::uint32_t communicator,
                        TrafficClass traffic_class) const {
    const std::uint64_t key = key_of(from, to, communicator, traffic_class);
    const auto place = std::lower_bound(loads_.begin(), loads_.end(), Load{key, 0}, before);
    return place != loads_.end() && place->key == key ? place->waiting : 0;
  }

 private:
  struct Load {
    std::uint64_t key = 0;
    std::uint32_t waiting = 0;
  };
  static bool before(const Load& a, const Load& b) { return a.key < b.key; }
  static std::uint64_t key_of(std::uint32_t from, std::uint32_t to, std::uint32_t communicator,
                              TrafficClass traffic_class) {
    return std::uint64_t{from} << 40 | std::uint64_t{to} << 32 | std::uint64_t{communicator} << 8 |
           index_of(traffic_class);
  }

  std::vector<Load> loads_;  // ascending by key
};

}  // namespace zhinu::sim::check

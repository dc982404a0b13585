// The traffic classes, in the order in which an endpoint serves them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zhinu {

// Control carries ACKs, grants and probes and goes before everything else.
// Internal carries zhinu's own small messages. The other three are the users'.
enum class TrafficClass : std::uint8_t {
  kControl = 0,
  kInternal = 1,
  kGradient = 2,
  kWeights = 3,
  kDataset = 4,
};

inline constexpr std::size_t kTrafficClasses = 5;

constexpr std::size_t index_of(TrafficClass traffic_class) {
  return static_cast<std::size_t>(traffic_class);
}

// A short lower-case name, as options and tables print it.
constexpr const char* name_of(TrafficClass traffic_class) {
  switch (traffic_class) {
    case TrafficClass::kControl: return "control";
    case TrafficClass::kInternal: return "internal";
    case TrafficClass::kGradient: return "gradient";
    case TrafficClass::kWeights: return "weights";
    case TrafficClass::kDataset: return "dataset";
  }
  return "unknown";
}

}  // namespace zhinu

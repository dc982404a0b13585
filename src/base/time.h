// Virtual or real time as integers: Instant is a point, Duration a distance.
//
// Both count nanoseconds in 64 bits (292 years). The core never reads a clock:
// every Instant is an argument, from one monotonic clock per endpoint.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace zhinu {

struct Duration {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ns * k}; }
  friend constexpr Duration operator*(std::int64_t k, Duration a) { return {a.ns * k}; }
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return {a.ns / k}; }
};

constexpr Duration nanoseconds(std::int64_t n) { return {n}; }
constexpr Duration microseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }

struct Instant {
  std::int64_t ns = 0;

  // Later than every real instant: "never" as a timeout.
  static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

}  // namespace zhinu

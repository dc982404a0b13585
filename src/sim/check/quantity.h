// Numbers with units, as scenario files and tables have them, exact in both directions.
//
// "2 ms", "400 Mbit/s", "64 KiB", "0.5 %". A number that needs a unit and has none is
// an error that suggests one. Thread rule: none needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace zhinu::sim::check {

// The largest unit in which the value is a whole number. Negative durations: "never".
std::string write_duration(Duration duration);
std::string write_bytes(std::uint64_t bytes);
std::string write_rate(std::uint64_t bits_per_s);
// Parts per million as percent, with up to four decimals.
std::string write_percent(std::uint64_t per_million);

// What was expected is in `expected` when there is no value: "a duration such as 2 ms".
template <class T>
struct Parsed {
  std::optional<T> value;
  const char* expected = "";
};
Parsed<Duration> read_duration(std::string_view text);
Parsed<std::uint64_t> read_bytes(std::string_view text);
Parsed<std::uint64_t> read_rate(std::string_view text);
Parsed<std::uint64_t> read_percent(std::string_view text);
Parsed<std::uint64_t> read_count(std::string_view text);

}  // namespace zhinu::sim::check

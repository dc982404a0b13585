#include "sim/check/quantity.h"

#include <array>
#include <span>

namespace zhinu::sim::check {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// Largest first.
constexpr std::array kTimeUnits = {Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000},
                                   Unit{"us", 1'000}, Unit{"ns", 1}};
constexpr std::array kByteUnits = {Unit{"GiB", 1ULL << 30}, Unit{"MiB", 1ULL << 20},
                                   Unit{"KiB", 1ULL << 10}, Unit{"B", 1}};
constexpr std::array kRateUnits = {Unit{"Gbit/s", 1'000'000'000}, Unit{"Mbit/s", 1'000'000},
                                   Unit{"kbit/s", 1'000}, Unit{"bit/s", 1}};
constexpr std::uint64_t kPercent = 10'000;  // in parts per million
constexpr std::size_t kDigitsMax = 18;

std::string write_units(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value % unit.size == 0 && (value > 0 || unit.size == 1))
      return std::to_string(value / unit.size) + " " + std::string(unit.name);
  }
  return std::to_string(value);
}

// Takes the leading digits off `text`.
std::optional<std::uint64_t> take_digits(std::string_view& text) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == kDigitsMax) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

void skip_space(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

std::optional<std::uint64_t> read_units(std::string_view text, std::span<const Unit> units) {
  const auto number = take_digits(text);
  if (!number) return std::nullopt;
  skip_space(text);
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    if (*number > UINT64_MAX / unit.size / 2) return std::nullopt;
    return *number * unit.size;
  }
  return std::nullopt;
}

}  // namespace

std::string write_duration(Duration duration) {
  if (duration.ns < 0) return "never";
  return write_units(static_cast<std::uint64_t>(duration.ns), kTimeUnits);
}

std::string write_bytes(std::uint64_t bytes) { return write_units(bytes, kByteUnits); }
std::string write_rate(std::uint64_t bits_per_s) { return write_units(bits_per_s, kRateUnits); }

std::string write_percent(std::uint64_t per_million) {
  // Four digits behind the point, without the zeros at the end.
  std::string text = std::to_string(kPercent + per_million % kPercent);
  text.front() = '.';
  text.erase(text.find_last_not_of('0') + 1);
  if (text == ".") text.clear();
  return std::to_string(per_million / kPercent) + text + " %";
}

Parsed<Duration> read_duration(std::string_view text) {
  if (text == "never") return {.value = Duration{-1}};
  const auto ns = read_units(text, kTimeUnits);
  if (!ns) return {.value = std::nullopt, .expected = "a duration such as 2 ms"};
  return {.value = Duration{static_cast<std::int64_t>(*ns)}};
}

Parsed<std::uint64_t> read_bytes(std::string_view text) {
  return {.value = read_units(text, kByteUnits), .expected = "a size such as 64 KiB"};
}

Parsed<std::uint64_t> read_rate(std::string_view text) {
  return {.value = read_units(text, kRateUnits), .expected = "a rate such as 400 Mbit/s"};
}

Parsed<std::uint64_t> read_percent(std::string_view text) {
  constexpr const char* kExpected = "a share such as 0.5 %";
  const auto whole = take_digits(text);
  if (!whole || *whole > 100) return {.value = std::nullopt, .expected = kExpected};
  std::uint64_t per_million = *whole * kPercent;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    std::uint64_t place = kPercent;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      place /= 10;
      per_million += static_cast<std::uint64_t>(text.front() - '0') * place;
      text.remove_prefix(1);
    }
  }
  skip_space(text);
  if (text != "%") return {.value = std::nullopt, .expected = kExpected};
  return {.value = per_million};
}

Parsed<std::uint64_t> read_count(std::string_view text) {
  auto value = take_digits(text);
  if (!text.empty()) value = std::nullopt;
  return {.value = value, .expected = "a whole number"};
}

}  // namespace zhinu::sim::check

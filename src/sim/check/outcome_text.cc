#include "sim/check/outcome_text.h"

#include <charconv>
#include <vector>

namespace zhinu::sim::check {
namespace {

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);  // and its space
  return value;
}

}  // namespace

std::string write_outcome(const Outcome& outcome) {
  std::string text;
  const auto put = [&](std::uint64_t value) { text += std::to_string(value) + " "; };
  put(outcome.hash);
  put(static_cast<std::uint64_t>(outcome.elapsed.ns));
  put(outcome.packets);
  put(outcome.events);
  put(outcome.items);
  for (const std::uint64_t count : outcome.faults) put(count);
  put(outcome.failure ? 1 : 0);
  if (outcome.failure) {
    put(static_cast<std::uint64_t>(outcome.failure->invariant));
    put(static_cast<std::uint64_t>(outcome.failure->at.ns));
    text += outcome.failure->detail;
  }
  return text;
}

std::optional<Outcome> read_outcome(std::string_view text) {
  std::vector<std::uint64_t> values;
  constexpr std::size_t kFixed = 5 + kFaultKinds + 1;
  while (values.size() < kFixed) {
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  Outcome outcome;
  outcome.hash = values[0];
  outcome.elapsed = Duration{static_cast<std::int64_t>(values[1])};
  outcome.packets = values[2];
  outcome.events = values[3];
  outcome.items = values[4];
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) outcome.faults[kind] = values[5 + kind];
  if (values.back() == 0) return outcome;
  const auto invariant = take_number(text);
  const auto at = take_number(text);
  if (!invariant || !at || *invariant >= kInvariants) return std::nullopt;
  outcome.failure = Failure{static_cast<Invariant>(*invariant), std::string(text),
                            Duration{static_cast<std::int64_t>(*at)}};
  return outcome;
}

}  // namespace zhinu::sim::check

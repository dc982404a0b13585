#include "sim/check/quantity.h"
#include "sim/check/scenario_fields.h"
#include "sim/check/scenario_file.h"

namespace zhinu::sim::check {
namespace {

// Collects the texts of the fields of one value, in order.
class FieldTexts {
 public:
  template <class T>
  void count(std::string_view name, T& value) {
    add(name, std::to_string(value));
  }
  template <class T>
  void bytes(std::string_view name, T& value) {
    add(name, write_bytes(value));
  }
  void rate(std::string_view name, std::uint64_t& value) { add(name, write_rate(value)); }
  void percent(std::string_view name, std::uint32_t& value) { add(name, write_percent(value)); }
  void duration(std::string_view name, Duration& value) { add(name, write_duration(value)); }
  void flag(std::string_view name, bool& value) { add(name, value ? "true" : "false"); }
  void text(std::string_view name, std::string& value) { add(name, '"' + value + '"'); }
  template <class E, std::size_t kCount>
  void choice(std::string_view name, E& value, const std::array<std::string_view, kCount>& names) {
    add(name, std::string(names[static_cast<std::size_t>(value)]));
  }

  std::vector<std::pair<std::string_view, std::string>> fields;

 private:
  void add(std::string_view name, std::string text) { fields.emplace_back(name, std::move(text)); }
};

// "{a: 1, b: 2 ms}" of the fields that differ from the default.
template <class T>
std::string in_braces(T value) {
  FieldTexts texts;
  FieldTexts defaults;
  T plain{};
  fields(texts, value);
  fields(defaults, plain);
  std::string line = "{";
  for (std::size_t i = 0; i < texts.fields.size(); ++i) {
    if (texts.fields[i].second == defaults.fields[i].second) continue;
    if (line.size() > 1) line += ", ";
    line += std::string(texts.fields[i].first) + ": " + texts.fields[i].second;
  }
  return line + "}";
}

// Writes the top level; scalars are written always.
class TopWriter {
 public:
  template <class T>
  void count(std::string_view name, T& value) {
    scalar(name, std::to_string(value));
  }
  void duration(std::string_view name, Duration& value) { scalar(name, write_duration(value)); }
  void text(std::string_view name, std::string& value) { scalar(name, '"' + value + '"'); }
  template <class E, std::size_t kCount>
  void choice(std::string_view name, E& value, const std::array<std::string_view, kCount>& names) {
    scalar(name, std::string(names[static_cast<std::size_t>(value)]));
  }
  template <class T>
  void map(std::string_view name, T& value) {
    scalar(name, in_braces(value));
  }
  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    if (values.empty()) return;
    out += std::string(name) + ":\n";
    for (T& value : values) out += "  - " + in_braces(value) + "\n";
  }

  std::string out;

 private:
  void scalar(std::string_view name, const std::string& text_of_value) {
    out += std::string(name) + ": " + text_of_value + "\n";
  }
};

}  // namespace

std::string write_scenario(const Scenario& scenario) {
  Scenario copy = scenario;
  TopWriter writer;
  top_fields(writer, copy);
  return writer.out;
}

}  // namespace zhinu::sim::check

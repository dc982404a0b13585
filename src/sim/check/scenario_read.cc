#include "sim/check/quantity.h"
#include "sim/check/scenario_fields.h"
#include "sim/check/scenario_file.h"
#include "sim/check/scenario_valid.h"

namespace zhinu::sim::check {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Assigns texts to fields by name and remembers what did not fit.
class FieldReader {
 public:
  explicit FieldReader(std::uint32_t line) : line_(line) {}

  // One "name: text" for the next call of fields(); finished() says whether it was used.
  void offer(std::string_view name, std::string_view text) {
    name_ = name;
    text_ = text;
    used_ = false;
  }
  bool finished(ScenarioError& error) {
    if (failed_) {
      error = error_;
      return false;
    }
    if (used_) return true;
    error = {line_, "a field that exists here", std::string(name_)};
    return false;
  }

  template <class T>
  void count(std::string_view name, T& value) {
    assign(name, value, read_count);
  }
  template <class T>
  void bytes(std::string_view name, T& value) {
    assign(name, value, read_bytes);
  }
  void rate(std::string_view name, std::uint64_t& value) { assign(name, value, read_rate); }
  void percent(std::string_view name, std::uint32_t& value) { assign(name, value, read_percent); }
  void duration(std::string_view name, Duration& value) {
    if (!mine(name)) return;
    const Parsed<Duration> parsed = read_duration(text_);
    if (!parsed.value) return refuse(parsed.expected);
    value = *parsed.value;
  }
  void flag(std::string_view name, bool& value) {
    if (!mine(name)) return;
    if (text_ != "true" && text_ != "false") return refuse("true or false");
    value = text_ == "true";
  }
  void text(std::string_view name, std::string& value) {
    if (!mine(name)) return;
    if (text_.size() < 2 || text_.front() != '"' || text_.back() != '"')
      return refuse("a text in double quotes");
    value = std::string(text_.substr(1, text_.size() - 2));
  }
  template <class E, std::size_t kCount>
  void choice(std::string_view name, E& value, const std::array<std::string_view, kCount>& names) {
    if (!mine(name)) return;
    std::string all;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (names[i] == text_) {
        value = static_cast<E>(i);
        return;
      }
      all += std::string(i == 0 ? "" : ", ") + std::string(names[i]);
    }
    refuse(("one of " + all).c_str());
  }

 private:
  bool mine(std::string_view name) {
    if (used_ || name != name_) return false;
    used_ = true;
    return true;
  }
  void refuse(const char* expected) {
    failed_ = true;
    error_ = {line_, std::string(name_) + ": " + expected, std::string(text_)};
  }
  template <class T>
  void assign(std::string_view name, T& value, Parsed<std::uint64_t> (*read)(std::string_view)) {
    if (!mine(name)) return;
    const Parsed<std::uint64_t> parsed = read(text_);
    if (!parsed.value || *parsed.value > std::numeric_limits<T>::max())
      return refuse(parsed.expected);
    value = static_cast<T>(*parsed.value);
  }

  std::uint32_t line_;
  std::string_view name_;
  std::string_view text_;
  bool used_ = false;
  bool failed_ = false;
  ScenarioError error_;
};

// Cuts "name: text" at the first colon that a space or the end follows.
bool cut_field(std::string_view field, std::string_view& name, std::string_view& text) {
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != ':' || (i + 1 < field.size() && field[i + 1] != ' ')) continue;
    name = trimmed(field.substr(0, i));
    text = trimmed(field.substr(i + 1));
    return !name.empty();
  }
  return false;
}

// Reads "{a: 1, b: 2 ms}" into `value`.
template <class T>
bool read_braces(std::string_view text, std::uint32_t line, T& value, ScenarioError& error) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    error = {line, "a map in braces", std::string(text)};
    return false;
  }
  text = trimmed(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view field = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : trimmed(text.substr(comma + 1));
    std::string_view name;
    std::string_view content;
    if (!cut_field(field, name, content)) {
      error = {line, "a field such as `at: 2 ms`", std::string(field)};
      return false;
    }
    FieldReader reader(line);
    reader.offer(name, content);
    fields(reader, value);
    if (!reader.finished(error)) return false;
  }
  return true;
}

// One line of the top level, or of the list that is open.
class TopReader : public FieldReader {
 public:
  TopReader(std::uint32_t line, std::string_view name, std::string_view text, bool list_item)
      : FieldReader(line), line_(line), name_(name), text_(text), list_item_(list_item) {
    if (!list_item) offer(name, text);
  }

  template <class T>
  void map(std::string_view name, T& value) {
    if (list_item_ || name != name_) return;
    taken_ = true;
    ok_ = read_braces(text_, line_, value, error);
  }
  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    if (name != name_) return;
    taken_ = true;
    // The name opens the list, which replaces the default.
    if (!list_item_) {
      values.clear();
      return;
    }
    values.emplace_back();
    ok_ = read_braces(text_, line_, values.back(), error);
  }
  bool done() {
    if (taken_) return ok_;
    if (!list_item_) return finished(error);
    error = {line_, "a list that exists", std::string(name_)};
    return false;
  }

  ScenarioError error;

 private:
  std::uint32_t line_;
  std::string_view name_;
  std::string_view text_;
  bool list_item_;
  bool taken_ = false;
  bool ok_ = true;
};

}  // namespace

bool read_scenario(std::string_view text, Scenario& out, ScenarioError& error) {
  Scenario scenario;
  std::string_view list;
  std::uint32_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    const bool list_item = content.starts_with("- ");
    std::string_view name = list;
    std::string_view value = trimmed(content.substr(list_item ? 2 : 0));
    if (!list_item && !cut_field(content, name, value)) {
      error = {line_number, "a field such as `seed: 7`", std::string(content)};
      return false;
    }
    if (!list_item) list = value.empty() ? name : std::string_view();
    TopReader reader(line_number, name, value, list_item);
    top_fields(reader, scenario);
    if (!reader.done()) {
      error = reader.error;
      return false;
    }
  }
  if (!check_valid(scenario, error)) return false;
  out = scenario;
  return true;
}

}  // namespace zhinu::sim::check

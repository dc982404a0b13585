// How the program looks: colour, tables, numbers for people, a progress line.
//
// Results go to stdout, progress to stderr. Colour only on a terminal, unless asked
// for; NO_COLOR is kept to. Thread rule: one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace zhinu::cli {

enum class When : std::uint8_t { kAuto, kAlways, kNever };

struct OutputOptions {
  When color = When::kAuto;
  bool plain = false;  // no colour, no progress line, no alignment tricks
  bool json = false;
};

// Words in colour, or as they are.
class Palette {
 public:
  // Reads NO_COLOR and looks whether stdout is a terminal.
  explicit Palette(const OutputOptions& options);

  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string dim(const std::string& text) const { return paint("2", text); }
  std::string good(const std::string& text) const { return paint("32", text); }
  std::string bad(const std::string& text) const { return paint("1;31", text); }

 private:
  std::string paint(const char* code, const std::string& text) const;
  bool color_ = false;
};

// "1,234,567"
std::string grouped(std::uint64_t number);
// `value` with `digits` behind the point.
std::string fixed(double value, int digits);

// One line on stderr that is overwritten; nothing when stderr is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(const OutputOptions& options);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shown from the second second on, with the time that is left from the tenth.
  void show(std::uint64_t done, std::uint64_t of, const std::string& note);
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace zhinu::cli

#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace zhinu::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr std::chrono::seconds kQuietTime{1};
constexpr std::chrono::seconds kEtaTime{10};
constexpr std::size_t kBarWidth = 24;

bool wants_color(const OutputOptions& options) {
  if (options.plain || options.color == When::kNever) return false;
  if (options.color == When::kAlways) return true;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(STDOUT_FILENO) == 1;
}

}  // namespace

Palette::Palette(const OutputOptions& options) : color_(wants_color(options)) {}

std::string Palette::paint(const char* code, const std::string& text) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

ProgressLine::ProgressLine(const OutputOptions& options)
    : terminal_(!options.plain && isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(std::uint64_t done, std::uint64_t of, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - begin_ < kQuietTime || now - last_ < kRedrawInterval) return;
  last_ = now;
  shown_ = true;
  const std::size_t filled = of > 0 ? kBarWidth * done / of : 0;
  std::string line = fmt::format("\r\x1b[K[{:#<{}}{:.<{}}] {}/{}", "", filled, "",
                                 kBarWidth - filled, grouped(done), grouped(of));
  const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
  if (now - begin_ > kEtaTime && done > 0) {
    const double left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(of - done);
    line += fmt::format(", {:.0f} s left", left_s);
  }
  if (!note.empty()) line += ", " + note;
  fmt::print(stderr, "{}", line);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace zhinu::cli

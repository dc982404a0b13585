// Some of the message numbers inside a NumberWindow, such as those that were refused.
//
// A bitmap over the window: the owner takes a number out when it is marked as seen, so
// that no bit outlives its place. Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>

#include "core/number_window.h"

namespace zhinu::core {

class NumberSet {
 public:
  // Numbers inside the window only. Adding twice and removing what is not there are legal.
  void add(std::uint64_t number) {
    if (!contains(number)) ++count_;
    word_of(number) |= bit_of(number);
  }
  void remove(std::uint64_t number) {
    if (contains(number)) --count_;
    word_of(number) &= ~bit_of(number);
  }
  bool contains(std::uint64_t number) const {
    return (bitmap_[number / 64 % kWords] & bit_of(number)) != 0;
  }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::uint32_t kWords = NumberWindow::kWindow / 64;

  static std::uint64_t bit_of(std::uint64_t number) { return 1ULL << (number % 64); }
  std::uint64_t& word_of(std::uint64_t number) { return bitmap_[number / 64 % kWords]; }

  std::array<std::uint64_t, kWords> bitmap_{};
  std::uint32_t count_ = 0;
};

}  // namespace zhinu::core

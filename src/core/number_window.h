// Which message numbers of one flow were taken, and in which order messages of a
// communicator may be matched.
//
// A cumulative floor and a bounded bitmap (design decision 4). The receiver keeps
// one for the peer's numbers (a later copy is a duplicate), the sender one for its
// own (to stay inside the receiver's window). Thread rule: one owner at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"

namespace zhinu::core {

class NumberWindow {
 public:
  static constexpr std::uint32_t kWindow = 2'048;  // floor + kWindow and above is refused

  enum class Seen : std::uint8_t { kFresh, kSeen, kBeyond };
  // Every number below was seen. A truncated number is expanded to the one nearest to it.
  std::uint64_t floor() const { return floor_; }
  Seen look(std::uint64_t number) const {
    if (number < floor_) return Seen::kSeen;
    if (number - floor_ >= kWindow) return Seen::kBeyond;
    return (word_of(number) >> (number % kWordBits)) & 1 ? Seen::kSeen : Seen::kFresh;
  }
  // Marks a fresh number. It must be inside the window.
  void mark(std::uint64_t number) {
    if (number == floor_) {
      // In order, its bit need not be set to be cleared.
      ++floor_;
      if (ahead_ > 0) advance_floor();
      return;
    }
    ZHINU_ASSERT(look(number) == Seen::kFresh);
    ++ahead_;
    bitmap_[number / kWordBits % kWords] |= 1ULL << (number % kWordBits);
  }

  // May message `number` be matched now, given the wire's `order` distance?
  enum class Gate : std::uint8_t {
    kOpen,  // no predecessor (also: one below number 0), or it was seen
    kWait,  // the predecessor (order 255: anything up to number - 255) is still missing
  };
  Gate gate(std::uint64_t number, std::uint8_t order) const {
    if (order == 0 || order > number) return Gate::kOpen;
    if (order == kOrderFar) return floor_ <= number - order ? Gate::kWait : Gate::kOpen;
    return look(number - order) == Seen::kSeen ? Gate::kOpen : Gate::kWait;
  }

 private:
  static constexpr std::uint32_t kWordBits = 64;
  static constexpr std::uint32_t kWords = kWindow / kWordBits;
  static constexpr std::uint8_t kOrderFar = 255;

  std::uint64_t word_of(std::uint64_t number) const { return bitmap_[number / kWordBits % kWords]; }
  void advance_floor();

  std::array<std::uint64_t, kWords> bitmap_{};  // ring, bit of number n at n % kWindow
  std::uint64_t floor_ = 0;                     // every number below was seen
  std::uint32_t ahead_ = 0;                     // numbers above it that were seen
};

}  // namespace zhinu::core

// Which message numbers of one incoming flow were seen, and in which order
// messages of a communicator may be matched.
//
// A cumulative floor and a bounded bitmap (design decision 4). A number is seen
// once its message was taken, refused or given up; a later copy is a duplicate.
// "Void" numbers never carried a message that was taken: what was sent behind
// them on the same communicator is void too and comes again under new numbers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"

namespace zhinu::core {

class NumberWindow {
 public:
  static constexpr std::uint32_t kWindow = 4'096;  // floor + kWindow and above is refused
  static constexpr std::uint32_t kVoidMax = 32;    // runs of void numbers that are remembered

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
    ZHINU_ASSERT(look(number) == Seen::kFresh);
    bitmap_[number / kWordBits % kWords] |= 1ULL << (number % kWordBits);
    if (number == floor_) advance_floor();
  }
  // Marks a fresh number seen and void. Never fails: when more than kVoidMax runs are
  // remembered, the two closest become one, and the numbers between them count as void
  // for what names them as predecessor. That costs their successors a second journey;
  // refusing the number instead would hold the floor, and with it the list, forever.
  void mark_void(std::uint64_t number);
  bool is_void(std::uint64_t number) const;

  // May message `number` be matched now, given the wire's `order` distance?
  enum class Gate : std::uint8_t {
    kOpen,  // no predecessor (also: one below number 0), or it was seen
    kWait,  // the predecessor (order 255: anything up to number - 255) is still missing
    kVoid,  // the predecessor is void (order 255: may be void)
  };
  Gate gate(std::uint64_t number, std::uint8_t order) const {
    if (order == 0 || order > number) return Gate::kOpen;
    if (order == kOrderFar) return gate_far(number - order);
    if (void_count_ != 0 && is_void(number - order)) return Gate::kVoid;
    return look(number - order) == Seen::kSeen ? Gate::kOpen : Gate::kWait;
  }

 private:
  static constexpr std::uint32_t kWordBits = 64;
  static constexpr std::uint32_t kWords = kWindow / kWordBits;
  static constexpr std::uint8_t kOrderFar = 255;

  // Void numbers [first, first + more], low 16 bits: all lie within kWindow of the floor.
  struct VoidRun {
    std::uint16_t first = 0;
    std::uint16_t more = 0;
  };
  static_assert(kWindow * 4 <= 0x1'0000, "16 bits tell old runs from new ones");

  std::uint64_t word_of(std::uint64_t number) const { return bitmap_[number / kWordBits % kWords]; }
  void advance_floor();
  Gate gate_far(std::uint64_t last) const;
  std::uint64_t first_of(const VoidRun& run) const;
  void add_void(std::uint64_t number);
  void erase_run(std::uint32_t index);
  void join_closest_runs();
  void forget_old_runs();

  std::array<std::uint64_t, kWords> bitmap_{};  // ring, bit of number n at n % kWindow
  std::uint64_t floor_ = 0;                     // every number below was seen
  // Ascending, apart from each other; one more than kVoidMax while two are being joined.
  std::array<VoidRun, kVoidMax + 1> void_{};
  std::uint32_t void_count_ = 0;
};

}  // namespace zhinu::core

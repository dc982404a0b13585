// Which message numbers of one flow were taken, and in which order messages of a
// communicator may be matched.
//
// A cumulative floor and a bounded bitmap (design decision 4). The receiver keeps
// one for the peer's numbers (a later copy is a duplicate), the sender one for its
// own (to stay inside the receiver's window). Thread rule: one owner at a time.
#pragma once

#include <array>
#include <cstdint>

namespace zhinu::core {

class NumberWindow {
 public:
  static constexpr std::uint32_t kWindow = 2'048;  // floor + kWindow and above is refused

  enum class Seen : std::uint8_t { kFresh, kSeen, kBeyond };
  std::uint64_t floor() const { return floor_; }  // every number below was seen
  Seen look(std::uint64_t number) const;
  // Marks a fresh number. It must be inside the window.
  void mark(std::uint64_t number);

  // May message `number` be matched now, given the wire's `order` distance?
  enum class Gate : std::uint8_t {
    kOpen,  // no predecessor, or it was seen
    kWait,  // the predecessor (order 255: anything up to number - 255) is still missing
  };
  Gate gate(std::uint64_t number, std::uint8_t order) const;

 private:
  std::array<std::uint64_t, kWindow / 64> bitmap_{};  // ring, bit of number n at n % kWindow
  std::uint64_t floor_ = 0;
};

}  // namespace zhinu::core

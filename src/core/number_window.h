// Which message numbers of one incoming flow were seen, and in which order
// messages of a communicator may be matched.
//
// A cumulative floor and a bounded bitmap (design decision 4). A number is seen
// once its message was taken, refused or given up; a later copy is a duplicate.
// "Void" numbers never carried a message that was taken: what was sent behind
// them on the same communicator is void too and comes again under new numbers.
#pragma once

#include <array>
#include <cstdint>

namespace zhinu::core {

class NumberWindow {
 public:
  static constexpr std::uint32_t kWindow = 4'096;  // floor + kWindow and above is refused
  static constexpr std::uint32_t kVoidMax = 32;    // void numbers that successors may still name

  enum class Seen : std::uint8_t { kFresh, kSeen, kBeyond };
  // The full number of a truncated one; nearest to the floor.
  std::uint64_t floor() const { return floor_; }
  Seen look(std::uint64_t number) const;
  // Marks a fresh number. It must be inside the window.
  void mark(std::uint64_t number);
  // Marks a number seen and void. False when the list of void numbers is full of
  // entries that successors may still name (the packet is then treated as lost).
  bool mark_void(std::uint64_t number);
  bool is_void(std::uint64_t number) const;

  // May message `number` be matched now, given the wire's `order` distance?
  enum class Gate : std::uint8_t {
    kOpen,  // no predecessor, or it was seen
    kWait,  // the predecessor (order 255: anything up to number - 255) is still missing
    kVoid,  // the predecessor is void
  };
  Gate gate(std::uint64_t number, std::uint8_t order) const;

 private:
  std::array<std::uint64_t, kWindow / 64> bitmap_{};  // ring, bit of number n at n % kWindow
  std::uint64_t floor_ = 0;                           // every number below was seen
  std::array<std::uint32_t, kVoidMax> void_{};        // low 32 bits, newest overwrite oldest usable
  std::uint32_t void_count_ = 0;
};

}  // namespace zhinu::core

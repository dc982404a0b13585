#include "core/number_window.h"

#include <algorithm>

namespace zhinu::core {

void NumberWindow::advance_floor() {
  for (;;) {  // at most one turn of the ring: bits are cleared as the floor passes them
    std::uint64_t& word = bitmap_[floor_ / kWordBits % kWords];
    const auto bit = static_cast<std::uint32_t>(floor_ % kWordBits);
    const auto run = static_cast<std::uint32_t>(std::countr_one(word >> bit));
    // The shift brought `bit` zeros in from above, so the run ends inside the word.
    ZHINU_ASSERT(bit + run <= kWordBits);
    if (run == 0) break;
    word &= ~((~0ULL >> (kWordBits - run)) << bit);
    floor_ += run;
    if (bit + run < kWordBits) break;
  }
  if (void_count_ != 0) forget_old_runs();
}

void NumberWindow::mark_void(std::uint64_t number) {
  mark(number);
  add_void(number);
  if (void_count_ > kVoidMax) join_closest_runs();
  ZHINU_ASSERT(void_count_ <= kVoidMax);
}

bool NumberWindow::is_void(std::uint64_t number) const {
  for (std::uint32_t i = void_count_; i-- > 0;) {  // newest first: they are asked for most
    const std::uint64_t first = first_of(void_[i]);
    if (number >= first) return number - first <= void_[i].more;
  }
  return false;
}

// The predecessor is some number up to `last`. Which one is not told, so that one void
// number among them makes it void: the message comes again and by then names no predecessor.
NumberWindow::Gate NumberWindow::gate_far(std::uint64_t last) const {
  if (floor_ <= last) return Gate::kWait;
  return void_count_ != 0 && first_of(void_[0]) <= last ? Gate::kVoid : Gate::kOpen;
}

std::uint64_t NumberWindow::first_of(const VoidRun& run) const {
  const auto distance = static_cast<std::int16_t>(
      static_cast<std::uint16_t>(run.first - static_cast<std::uint16_t>(floor_)));
  return floor_ + static_cast<std::uint64_t>(std::int64_t{distance});
}

void NumberWindow::add_void(std::uint64_t number) {
  std::uint32_t at = void_count_;  // runs [0, at) begin at or below `number`
  while (at > 0 && first_of(void_[at - 1]) > number) --at;

  const bool touches_next = at < void_count_ && first_of(void_[at]) == number + 1;
  if (at > 0) {
    VoidRun& before = void_[at - 1];
    const std::uint64_t last = first_of(before) + before.more;
    if (number <= last) return;  // it lies between two runs that were joined
    if (number == last + 1) {
      ++before.more;
      if (!touches_next) return;
      before.more = static_cast<std::uint16_t>(before.more + void_[at].more + 1);
      erase_run(at);
      return;
    }
  }
  if (touches_next) {
    --void_[at].first;
    ++void_[at].more;
    return;
  }
  std::move_backward(void_.begin() + at, void_.begin() + void_count_,
                     void_.begin() + void_count_ + 1);
  void_[at] = {.first = static_cast<std::uint16_t>(number), .more = 0};
  ++void_count_;
}

void NumberWindow::erase_run(std::uint32_t index) {
  ZHINU_ASSERT(index < void_count_);
  std::move(void_.begin() + index + 1, void_.begin() + void_count_, void_.begin() + index);
  --void_count_;
}

void NumberWindow::join_closest_runs() {
  ZHINU_ASSERT(void_count_ >= 2);
  std::uint32_t closest = 0;
  std::uint64_t gap_min = ~0ULL;
  for (std::uint32_t i = 0; i + 1 < void_count_; ++i) {
    const std::uint64_t gap = first_of(void_[i + 1]) - first_of(void_[i]) - void_[i].more;
    if (gap >= gap_min) continue;
    gap_min = gap;
    closest = i;
  }
  VoidRun& run = void_[closest];
  const VoidRun& next = void_[closest + 1];
  run.more = static_cast<std::uint16_t>(next.first + next.more - run.first);
  erase_run(closest + 1);
}

// Nothing names a number kWindow below the floor: while it was unacknowledged its sender
// could not get further ahead than that.
void NumberWindow::forget_old_runs() {
  while (void_count_ != 0) {
    VoidRun& oldest = void_[0];
    const std::uint64_t first = first_of(oldest);
    if (first + kWindow > floor_) return;
    if (first + oldest.more + kWindow > floor_) {
      const std::uint64_t cut = floor_ - kWindow + 1 - first;
      oldest.first = static_cast<std::uint16_t>(oldest.first + cut);
      oldest.more = static_cast<std::uint16_t>(oldest.more - cut);
      return;
    }
    erase_run(0);
  }
}

}  // namespace zhinu::core

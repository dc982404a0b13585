// Any row of calls to two endpoints, and any behaviour of the network between them:
// packets come late, twice, changed or not at all, paths die, a process starts anew.
// Afterwards nothing goes wrong any more, and all that can end must end, once.
//
// The first byte chooses the protection and whether both have met before; then each
// step is one byte that says what happens and one or two that say to what.
#include <array>
#include <cstdint>
#include <span>

#include "core/calls_world_test.h"

namespace zhinu::core {
namespace {

using test::Item;

constexpr std::uint32_t kStepsMax = 120;
constexpr std::array<std::size_t, 16> kSizes = {
    0, 1, 64, 200, 599, 600, 601, 1'000, 600, 1'300, 2'048, 2'500, 4'000, 6'000, 9'000, 12'000};
constexpr std::array<TrafficClass, 4> kClasses = {TrafficClass::kGradient, TrafficClass::kGradient,
                                                  TrafficClass::kWeights, TrafficClass::kInternal};

class Steps {
 public:
  explicit Steps(std::span<const std::uint8_t> input) : input_(input) {}
  bool empty() const { return at_ >= input_.size(); }
  std::uint8_t next() { return empty() ? std::uint8_t{0} : input_[at_++]; }

 private:
  std::span<const std::uint8_t> input_;
  std::size_t at_ = 0;
};

// A byte: communicator, class, tag and size come from its bits.
Item item_of(OperationKind kind, std::uint8_t what, std::uint8_t how, Instant now) {
  Item item;
  item.kind = kind;
  item.bytes = kSizes[what & 15];
  item.communicator = static_cast<std::uint16_t>((what >> 4) % test::kWorldCommunicators);
  item.tag = (what >> 6) & 1;
  item.traffic_class = kClasses[how & 3];
  item.any_source = (how & 4) != 0;
  item.notify = (how & 4) != 0;
  item.ordered = (how & 8) != 0;
  item.offset = std::uint64_t{how & 0x30U} * 64;
  if ((how & 0xc0) == 0x40) item.digest = 7;
  if ((how & 0xf0) == 0xc0) item.digest = 8;
  if ((how & 0xc0) == 0x80) item.deadline = now + milliseconds(how & 0x30);
  return item;
}

void step(test::World& world, Steps& steps) {
  const std::uint8_t choice = steps.next();
  const std::uint32_t side = choice & 1;
  const std::uint8_t what = steps.next();
  switch (choice >> 1 & 31) {
    case 0: return world.post(side, item_of(OperationKind::kSend, what, steps.next(), world.now()));
    case 1:
    case 2:
    case 3: return world.post(side, item_of(OperationKind::kSend, what, choice >> 6, world.now()));
    case 4:
      return world.post(side, item_of(OperationKind::kReceive, what, steps.next(), world.now()));
    case 5:
    case 6:
    case 7:
      return world.post(side, item_of(OperationKind::kReceive, what, choice >> 6, world.now()));
    case 8:
      return world.post(side, item_of(OperationKind::kWrite, what, steps.next(), world.now()));
    case 9: return world.post(side, item_of(OperationKind::kRead, what, steps.next(), world.now()));
    case 10: return world.cancel(side, what);
    case 11: return world.abort(side, what % 2);
    case 12: return world.toggle_communicator(side, what % test::kWorldCommunicators);
    case 13: return world.toggle_region(side, (what & 1) != 0);
    case 14:
      if (what == 0xc1) world.close(side);
      return;
    case 15:
      if (what == 0xc2) world.restart(side);
      return;
    case 16: return world.misbehave(side, what);
    case 17: return world.set_down(what & 1, (what & 2) != 0);
    case 18: return world.move_address(side, what & 1);
    case 19: return world.corrupt(what, steps.next() * 8U + (choice >> 6));
    case 20: return world.duplicate(what);
    case 21:
    case 22: return world.drop(what);
    case 23:
    case 24:
    case 25:
    case 26: return world.deliver(what, choice >> 6 == 3);
    case 27:
    case 28: return world.deliver_all();
    case 29: return world.advance(microseconds(what));
    case 30: return world.advance(microseconds(100 * what));
    case 31: return world.advance(milliseconds(what));
  }
}

void run(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  Steps steps(input);
  const std::uint8_t first = steps.next();
  constexpr std::array<SealMode, 3> kModes = {SealMode::kNone, SealMode::kGmac, SealMode::kCrc32c};
  test::World world(kModes[first % 3], 1);
  if ((first & 0x80) == 0) world.connect();
  for (std::uint32_t i = 0; i < kStepsMax && !steps.empty(); ++i) step(world, steps);
  world.heal();
  world.expect_matched_ended();
  world.expect_ends();
}

}  // namespace
}  // namespace zhinu::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zhinu::core::run({data, size});
  return 0;
}

// For tests of the check itself: an object that breaks something on purpose.
//
// Each answer plants one fault in the harness, between core and checks, where the
// matching invariant has to notice it. A run without one passes null.
#pragma once

#include <cstdint>

#include "core/endpoint.h"
#include "sim/check/items.h"

namespace zhinu::sim::check {

class Saboteur {
 public:
  virtual ~Saboteur() = default;
  // May change the datagram in place.
  virtual void damage(const core::Transmit& /*transmit*/, MutableByteSpan /*bytes*/) {}
  // How often the completion is seen: 0 loses it, 2 repeats it. May change it.
  virtual std::uint32_t completions(ItemRef /*item*/, core::Completion& /*completion*/) {
    return 1;
  }
  // Write into the buffer of an item after its completion was checked.
  virtual bool scribble(ItemRef /*item*/) { return false; }
  // Count a send buffer as given back while the core still uses it.
  virtual bool release_early(ItemRef /*item*/) { return false; }
  // Show the watch the same packet twice.
  virtual bool repeat_packet() { return false; }
  // Tell the watch that the path a packet leaves on is dead.
  virtual bool slander_path() { return false; }
};

}  // namespace zhinu::sim::check

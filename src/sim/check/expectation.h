// Which results a posted item may have, given the scenario and what happened.
//
// kOk always; each error only with a cause. Thread rule: none needed.
#pragma once

#include "base/result.h"
#include "sim/check/history.h"
#include "sim/check/items.h"
#include "sim/check/scenario.h"
#include "sim/check/streams.h"

namespace zhinu::sim::check {

// `now` counts from the start of the run.
bool result_allowed(const Scenario& scenario, const Streams& streams, const History& history,
                    ItemRef ref, const Item& item, Errc status, Duration now);

// The node at the other end; kAnyNode for a receive from any source.
inline constexpr std::uint32_t kAnyNode = 0xffff'ffffU;
std::uint32_t other_end(const Scenario& scenario, ItemRef ref);
std::uint32_t communicator_of(const Scenario& scenario, ItemRef ref);
// The region with this id; the scenario has it.
const Region& region_of(const Scenario& scenario, std::uint32_t id);

}  // namespace zhinu::sim::check

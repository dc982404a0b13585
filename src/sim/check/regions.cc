#include "sim/check/regions.h"

#include "base/check.h"
#include "sim/check/content.h"

namespace zhinu::sim::check {
namespace {

std::string named(const Access& access) {
  return std::string(access.write ? "write " : "read ") + std::to_string(access.id) + " (" +
         std::to_string(access.bytes) + " bytes at " + std::to_string(access.offset) +
         " of region " + std::to_string(access.region) + ", from n" + std::to_string(access.from) +
         ")";
}

}  // namespace

Regions::Regions(const Scenario& scenario, Memory& memory, WireWatch& watch)
    : scenario_(scenario),
      memory_(memory),
      watch_(watch),
      states_(scenario.regions.size()),
      accesses_(scenario.accesses.size()) {
  for (std::uint32_t i = 0; i < scenario.accesses.size(); ++i) {
    const Access& access = scenario.accesses[i];
    std::uint32_t region = 0;
    while (region < scenario.regions.size() && scenario.regions[region].id != access.region)
      ++region;
    ZHINU_ASSERT(region < scenario.regions.size());
    home_.push_back(region);
    std::uint32_t slot = 0;
    while (slot < slots_.size() &&
           (slots_[slot].region != region || slots_[slot].offset != access.offset))
      ++slot;
    if (slot == slots_.size()) slots_.push_back({.region = region, .offset = access.offset});
    accesses_[i].slot = slot;
  }
}

void Regions::register_all(std::uint32_t node, core::Endpoint& endpoint) {
  for (std::uint32_t i = 0; i < scenario_.regions.size(); ++i) {
    const Region& region = scenario_.regions[i];
    RegionState& state = states_[i];
    if (region.node != node) continue;
    state.buffer = memory_.allocate(region.bytes);
    const MutableByteSpan bytes = memory_.span(state.buffer);
    if (!region.writable) {
      fill_content(region_content(scenario_.seed, region.id), 0, bytes);
      watch_.readable(state.buffer);
    }
    const auto key = endpoint.register_region(
        bytes, {.remote_read = !region.writable, .remote_write = region.writable});
    ZHINU_ASSERT(key.ok());
    state.key = key.value();
    state.registered = true;
    ++state.registrations;
    for (Slot& slot : slots_)
      if (slot.region == i) slot = {.region = i, .offset = slot.offset};
  }
}

void Regions::on_stop(std::uint32_t node) {
  for (std::uint32_t i = 0; i < states_.size(); ++i)
    if (scenario_.regions[i].node == node && states_[i].registered) retire(i);
}

Status Regions::revoke(Instant now, std::uint32_t index, core::Endpoint& endpoint) {
  const Status status = endpoint.revoke_region(now, states_[index].key);
  retire(index);
  return status;
}

void Regions::retire(std::uint32_t index) {
  RegionState& state = states_[index];
  state.registered = false;
  watch_.released(state.buffer);
  retired_.push_back({state.buffer, hash_of(memory_.span(state.buffer)), index});
}

Regions::SlotState Regions::slot_state(std::uint32_t access) const {
  if (!scenario_.accesses[access].write) return SlotState::kFree;
  const Slot& slot = slots_[accesses_[access].slot];
  if (slot.dead) return SlotState::kDead;
  return slot.holder != kNobody ? SlotState::kBusy : SlotState::kFree;
}

void Regions::on_posted(std::uint32_t access) {
  AccessState& state = accesses_[access];
  state.registration = states_[home_[access]].registrations;
  state.posted = ++posted_;
  if (!scenario_.accesses[access].write) return;
  slots_[state.slot].holder = access;
  // Until the write has its result nobody knows what the slot holds.
  for (std::uint32_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].slot == state.slot && home_[i] == home_[access]) accesses_[i].filled = false;
}

void Regions::on_lost(std::uint32_t access) {
  if (!scenario_.accesses[access].write) return;
  Slot& slot = slots_[accesses_[access].slot];
  if (slot.holder == access) slot.holder = kNobody;
  if (current(access)) slot.dead = true;
}

bool Regions::current(std::uint32_t access) const {
  const RegionState& region = states_[home_[access]];
  return region.registered && region.registrations == accesses_[access].registration;
}

ByteSpan Regions::slot_bytes(std::uint32_t access) const {
  const Access& args = scenario_.accesses[access];
  return ByteSpan(memory_.span(states_[home_[access]].buffer)).subspan(args.offset, args.bytes);
}

std::size_t Regions::wrong_byte(std::uint32_t access) const {
  const std::uint64_t key = access_content(scenario_.seed, scenario_.accesses[access].id);
  return first_wrong(key, 0, slot_bytes(access));
}

std::optional<Streams::Wrong> Regions::on_completion(std::uint32_t access, Errc status,
                                                     ByteSpan read_into) {
  const Access& args = scenario_.accesses[access];
  if (!args.write) {
    if (status != Errc::kOk) return std::nullopt;
    const std::uint64_t key = region_content(scenario_.seed, args.region);
    const std::size_t wrong = first_wrong(key, args.offset, read_into);
    if (wrong == kAllRight) return std::nullopt;
    return Streams::Wrong{Invariant::kBytesRight,
                          named(args) + ": byte " + std::to_string(wrong) + " is wrong"};
  }
  Slot& slot = slots_[accesses_[access].slot];
  const bool notification_due = status == Errc::kOk && args.notify && !accesses_[access].notified;
  if (slot.holder == access && !notification_due) slot.holder = kNobody;
  if (!current(access)) return std::nullopt;
  if (status != Errc::kOk) {
    // The target may still get late bytes of a write that ended here.
    slot.dead = true;
    return std::nullopt;
  }
  accesses_[access].filled = true;
  const std::size_t wrong = wrong_byte(access);
  if (wrong == kAllRight) return std::nullopt;
  return Streams::Wrong{
      Invariant::kBytesRight,
      named(args) + " ended well but byte " + std::to_string(wrong) + " at the target is wrong"};
}

std::optional<Streams::Wrong> Regions::on_notification(std::uint32_t node, std::uint32_t source,
                                                       const core::Event& event, const Item* item) {
  const std::uint32_t access = event.immediate;
  const auto wrong = [](std::string text) {
    return Streams::Wrong{Invariant::kNotificationRight, std::move(text)};
  };
  if (access >= accesses_.size() || item == nullptr || item->state == ItemState::kUnposted ||
      item->state == ItemState::kSkipped) {
    return wrong("a notification " + std::to_string(access) + " that no write asked for");
  }
  const Access& args = scenario_.accesses[access];
  AccessState& state = accesses_[access];
  if (!args.notify || args.from != source || scenario_.regions[home_[access]].node != node ||
      event.offset != args.offset || event.bytes != args.bytes) {
    return wrong(named(args) + ": notification with other values");
  }
  if (state.notified) return wrong(named(args) + ": a second notification");
  state.notified = true;
  if (!current(access)) return std::nullopt;
  if (event.region != states_[home_[access]].key) {
    return wrong(named(args) + ": notification for another region");
  }
  // The write itself may still be open; then its end frees the slot.
  if (slots_[state.slot].holder == access && item->state != ItemState::kPosted)
    slots_[state.slot].holder = kNobody;
  if (const std::size_t byte = wrong_byte(access); byte != kAllRight) {
    return wrong(named(args) + ": at the notification byte " + std::to_string(byte) + " is wrong");
  }
  return args.ordered ? keep_order(access, node) : std::nullopt;
}

std::optional<Streams::Wrong> Regions::keep_order(std::uint32_t access, std::uint32_t node) {
  const Access& args = scenario_.accesses[access];
  Order* order = nullptr;
  for (Order& known : orders_) {
    if (known.from == args.from && known.to == node && known.traffic_class == args.traffic_class &&
        known.communicator == args.communicator)
      order = &known;
  }
  if (order == nullptr) {
    orders_.push_back({.from = args.from,
                       .to = node,
                       .traffic_class = args.traffic_class,
                       .communicator = args.communicator});
    order = &orders_.back();
  }
  if (accesses_[access].posted < order->last) {
    return Streams::Wrong{Invariant::kNotificationRight,
                          named(args) + ": its ordered notification came after a later one"};
  }
  order->last = accesses_[access].posted;
  return std::nullopt;
}

std::optional<Streams::Wrong> Regions::final_check(const std::vector<Item>& items,
                                                   const History& history) const {
  for (const Retired& retired : retired_) {
    if (hash_of(memory_.span(retired.buffer)) == retired.hash) continue;
    return Streams::Wrong{Invariant::kNothingAfterCompletion,
                          "region " + std::to_string(scenario_.regions[retired.region].id) +
                              " was written after it was revoked"};
  }
  for (std::uint32_t i = 0; i < accesses_.size(); ++i) {
    const Access& args = scenario_.accesses[i];
    if (!args.write || items[i].state != ItemState::kDone || !current(i)) continue;
    if (accesses_[i].filled && wrong_byte(i) != kAllRight) {
      return Streams::Wrong{Invariant::kNothingAfterCompletion,
                            named(args) + ": the target changed after the completion"};
    }
    const std::uint32_t target = scenario_.regions[home_[i]].node;
    if (items[i].status == Errc::kOk && args.notify && !accesses_[i].notified &&
        !history.broken(args.from, target)) {
      return Streams::Wrong{Invariant::kNotificationRight, named(args) + ": never notified"};
    }
  }
  return std::nullopt;
}

}  // namespace zhinu::sim::check

// What was posted and what became of it: the items of a run.
//
// An item is a send or a receive of a message, or an access. Its reference travels
// as the `user` value of the core and back. Thread rule: plain values.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/types.h"
#include "sim/check/memory.h"

namespace zhinu::sim::check {

enum class ItemKind : std::uint8_t { kSend, kReceive, kAccess };
// A message of the harness itself, whose result nobody checks.
inline constexpr std::uint64_t kNudgeUser = UINT64_MAX;

struct ItemRef {
  ItemKind kind = ItemKind::kSend;
  std::uint32_t index = 0;  // of the message or access in the scenario

  friend bool operator==(ItemRef, ItemRef) = default;
};

constexpr std::uint64_t encode(ItemRef ref) {
  return static_cast<std::uint64_t>(ref.kind) << 32 | ref.index;
}
constexpr ItemRef decode_item(std::uint64_t user) {
  return {static_cast<ItemKind>(user >> 32), static_cast<std::uint32_t>(user)};
}

enum class ItemState : std::uint8_t {
  kUnposted,
  kPosted,
  kDone,     // completed with `status`
  kLost,     // its node restarted: no completion follows
  kSkipped,  // the post was refused for good, as the scenario allows
};

struct Item {
  ItemState state = ItemState::kUnposted;
  Errc status = Errc::kOk;
  bool cancel_asked = false;
  std::uint32_t node = 0;
  std::uint32_t order = 0;  // of posting, over the whole run
  core::Operation operation;
  BufferId buffer;
  Duration posted_at;
  Duration done_at;
  Duration deadline = Duration{-1};  // since the start of the run; negative for none
  std::uint64_t done_hash = 0;       // of the buffer when it was given back

  bool open() const { return state == ItemState::kPosted; }
};

}  // namespace zhinu::sim::check

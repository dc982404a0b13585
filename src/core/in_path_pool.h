// The incoming paths of all peers: one is taken when the first genuine packet of it arrives.
//
// A peer may state many paths and use few. The pool is allocated once; what it holds beside one
// path for each peer goes to whoever uses more, and never is a peer without its first because
// others took all. Full: packets of a further path are not taken, and to its sender the path is
// dead. Thread rule: the endpoint's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/in_path.h"
#include "core/path_table.h"

namespace zhinu::core {

// Of one peer, by the peer's index; null where nothing came yet.
using InPaths = std::array<InPath*, PathTable::kPathsMax>;

class InPathPool {
 public:
  // One for each of `peers_max` peers, and `more_max` for their others.
  InPathPool(std::uint32_t peers_max, std::uint32_t more_max);

  // A fresh path at `index`, which was null; null when the pool is full.
  InPath* acquire(InPaths& paths, std::uint8_t index);
  // A session is over: its paths are free, and `paths` is all null.
  void release(InPaths& paths);

  std::uint32_t used() const { return used_; }
  std::size_t memory_bytes() const { return capacity_ * (sizeof(InPath) + sizeof(Pointer)); }
  static constexpr std::size_t bytes_per_path() { return sizeof(InPath) + 2 * sizeof(Pointer); }

 private:
  using Pointer = std::uintptr_t;  // as large as one

  std::unique_ptr<InPath[]> paths_;
  std::unique_ptr<InPath*[]> free_;  // a stack of capacity_ - used_
  std::uint32_t capacity_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t more_left_ = 0;
};

}  // namespace zhinu::core

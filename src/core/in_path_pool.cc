#include "core/in_path_pool.h"

#include <algorithm>

namespace zhinu::core {
namespace {

bool has_any(const InPaths& paths) {
  return std::any_of(paths.begin(), paths.end(),
                     [](const InPath* path) { return path != nullptr; });
}

}  // namespace

InPathPool::InPathPool(std::uint32_t peers_max, std::uint32_t more_max)
    : paths_(std::make_unique<InPath[]>(peers_max + more_max)),
      free_(std::make_unique<InPath*[]>(peers_max + more_max)),
      capacity_(peers_max + more_max),
      more_left_(more_max) {
  for (std::uint32_t i = 0; i < capacity_; ++i) free_[i] = &paths_[capacity_ - 1 - i];
}

InPath* InPathPool::acquire(InPaths& paths, std::uint8_t index) {
  ZHINU_ASSERT(paths[index] == nullptr);
  if (has_any(paths)) {
    if (more_left_ == 0) return nullptr;
    --more_left_;
  }
  ZHINU_ASSERT(used_ < capacity_);
  InPath* const path = free_[capacity_ - 1 - used_++];
  *path = InPath();
  return paths[index] = path;
}

void InPathPool::release(InPaths& paths) {
  bool first = true;
  for (InPath*& path : paths) {
    if (path == nullptr) continue;
    if (!first) ++more_left_;
    first = false;
    free_[capacity_ - used_--] = path;
    path = nullptr;
  }
}

}  // namespace zhinu::core

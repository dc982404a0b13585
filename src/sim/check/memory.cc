#include "sim/check/memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "sim/check/content.h"

namespace zhinu::sim::check {
namespace {

constexpr std::size_t kAlignments = 8;

}  // namespace

Memory::Memory(std::size_t bytes, std::size_t buffers)
    : capacity_(bytes + buffers * (2 * Memory::kBorderBytes + kAlignments)) {
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  buffers_.reserve(buffers);
}

BufferId Memory::allocate(std::size_t bytes) {
  const std::size_t shift = buffers_.size() % kAlignments;
  const std::size_t total = shift + bytes + 2 * kBorderBytes;
  ZHINU_ASSERT(used_ + total <= capacity_);
  std::memset(bytes_.get() + used_, std::to_integer<int>(kPoison), total);
  buffers_.push_back({bytes_.get() + used_ + shift + kBorderBytes, bytes});
  used_ += total;
  return BufferId{static_cast<std::uint32_t>(buffers_.size() - 1)};
}

MutableByteSpan Memory::span(BufferId id) const {
  const Buffer& buffer = buffers_[id.value];
  return {buffer.first, buffer.bytes};
}

BufferId Memory::find(const std::byte* byte) const {
  const auto after =
      std::upper_bound(buffers_.begin(), buffers_.end(), byte,
                       [](const std::byte* at, const Buffer& b) { return at < b.first; });
  if (after == buffers_.begin()) return BufferId::none();
  const Buffer& buffer = *(after - 1);
  if (byte >= buffer.first + buffer.bytes) return BufferId::none();
  return BufferId{static_cast<std::uint32_t>(after - 1 - buffers_.begin())};
}

bool Memory::borders_whole(BufferId id) const {
  const Buffer& buffer = buffers_[id.value];
  return first_unpoisoned({buffer.first - kBorderBytes, kBorderBytes}) == kAllRight &&
         first_unpoisoned({buffer.first + buffer.bytes, kBorderBytes}) == kAllRight;
}

void Memory::poison(BufferId id) {
  const MutableByteSpan bytes = span(id);
  if (!bytes.empty()) std::memset(bytes.data(), std::to_integer<int>(kPoison), bytes.size());
}

}  // namespace zhinu::sim::check

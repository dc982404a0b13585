#include "core/block_pool.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace zhinu::core {

BlockPool::BlockPool(std::uint32_t blocks) {
  chunks_.reserve((std::size_t{blocks} + kChunkBlocks - 1) / kChunkBlocks);
  grow(blocks);
}

void BlockPool::grow(std::uint32_t blocks) {
  ZHINU_ASSERT(blocks < kNone - total_);
  const std::uint32_t total = total_ + blocks;
  while (chunks_.size() * kChunkBlocks < total) {
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunkBlocks * kBlockBytes));
  }
  next_.resize(total);
  while (total_ < total) {
    next_[total_] = free_head_;
    free_head_ = total_++;
  }
  free_count_ += blocks;
}

std::size_t BlockPool::memory_bytes() const {
  return chunks_.size() * kChunkBlocks * kBlockBytes + chunks_.capacity() * sizeof(chunks_[0]) +
         next_.capacity() * sizeof(std::uint32_t);
}

std::uint32_t BlockPool::blocks_for(std::size_t bytes) {
  const std::size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
  ZHINU_ASSERT(blocks < kNone);
  return static_cast<std::uint32_t>(blocks);
}

// The chain is a piece of the free list, cut off behind its last block.
std::uint32_t BlockPool::store(ByteSpan data) {
  if (data.empty() || !has_room(data.size())) return kNone;
  const std::uint32_t head = free_head_;
  for (;;) {
    const std::uint32_t index = free_head_;
    ZHINU_ASSERT(index < total_);
    const std::size_t count = std::min(data.size(), kBlockBytes);
    std::memcpy(block(index), data.data(), count);
    data = data.subspan(count);
    free_head_ = next_[index];
    --free_count_;
    if (!data.empty()) continue;
    next_[index] = kNone;
    return head;
  }
}

void BlockPool::read(std::uint32_t head, MutableByteSpan to) const {
  while (!to.empty()) {
    ZHINU_ASSERT(head < total_);  // the chain ends before `to` does
    const std::size_t count = std::min(to.size(), kBlockBytes);
    std::memcpy(to.data(), block(head), count);
    to = to.subspan(count);
    head = next_[head];
  }
}

void BlockPool::free(std::uint32_t head) {
  while (head != kNone) {
    ZHINU_ASSERT(head < total_);
    ZHINU_ASSERT(free_count_ < total_);  // more would come back than left: freed twice
    const std::uint32_t next = next_[head];
    next_[head] = free_head_;
    free_head_ = head;
    ++free_count_;
    head = next;
  }
}

}  // namespace zhinu::core

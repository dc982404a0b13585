// Memory for messages that arrived before their receive: chains of fixed blocks.
//
// Capacity grows only in grow() (set-up); store and free never allocate.
// Thread rule: one owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace zhinu::core {

class BlockPool {
 public:
  static constexpr std::size_t kBlockBytes = 512;
  static constexpr std::uint32_t kNone = 0xffffffffU;

  explicit BlockPool(std::uint32_t blocks);
  // Adds blocks (a communicator brings its reserve). Addresses of stored data stay valid.
  void grow(std::uint32_t blocks);

  static std::uint32_t blocks_for(std::size_t bytes);  // 0 for 0 bytes
  bool has_room(std::size_t bytes) const { return bytes <= std::size_t{free_count_} * kBlockBytes; }
  // Copies `data` in; the head of the chain, or kNone (no room, or no bytes).
  std::uint32_t store(ByteSpan data);
  // Copies the chain out to `to` (its first to.size() bytes; the chain holds that many).
  void read(std::uint32_t head, MutableByteSpan to) const;
  void free(std::uint32_t head);  // kNone: no-op

  std::uint32_t free_blocks() const { return free_count_; }
  std::uint32_t blocks() const { return total_; }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kChunkBlocks = 64;  // 32 KiB of memory at a time

  std::byte* block(std::uint32_t index) const {
    return chunks_[index / kChunkBlocks].get() + index % kChunkBlocks * kBlockBytes;
  }

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<std::uint32_t> next_;  // of each block: in its chain, or in the free list
  std::uint32_t free_head_ = kNone;
  std::uint32_t free_count_ = 0;
  std::uint32_t total_ = 0;
};

}  // namespace zhinu::core

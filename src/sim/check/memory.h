// The memory of all simulated nodes: buffers with poison around them, and who owns
// which address.
//
// Buffers are never reused within a run, so that a write that comes too late is
// always seen. All memory is taken at construction. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace zhinu::sim::check {

using BufferId = Id<struct BufferTag>;

class Memory {
 public:
  static constexpr std::size_t kBorderBytes = 64;

  // Room for buffers of `bytes` in all, `buffers` of them.
  Memory(std::size_t bytes, std::size_t buffers);

  // A poisoned buffer at an alignment that differs from buffer to buffer.
  BufferId allocate(std::size_t bytes);
  MutableByteSpan span(BufferId id) const;
  // The buffer that holds this byte; none() for a border or foreign memory.
  BufferId find(const std::byte* byte) const;

  // True while nobody wrote into the borders of the buffer.
  bool borders_whole(BufferId id) const;
  void poison(BufferId id);
  std::size_t buffers() const { return buffers_.size(); }

 private:
  struct Buffer {
    std::byte* first = nullptr;
    std::size_t bytes = 0;
  };

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::vector<Buffer> buffers_;  // ascending by address
};

}  // namespace zhinu::sim::check

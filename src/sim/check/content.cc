#include "sim/check/content.h"

#include <cstring>

namespace zhinu::sim::check {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15ULL;  // odd: all words of a key differ

// Word i is key ^ (i * stride), so that the next one costs an addition.
class Words {
 public:
  Words(std::uint64_t key, std::uint64_t index) : key_(key), position_(index * kStride) {}
  std::uint64_t next() {
    const std::uint64_t word = key_ ^ position_;
    position_ += kStride;
    return word;
  }

 private:
  std::uint64_t key_;
  std::uint64_t position_;
};

// Calls visit(index, word bytes, count) over the pieces of [offset, offset + size) until it
// returns false. Whole words are a loop of their own, where the count is a constant.
template <class Visit>
void for_each_word(std::uint64_t key, std::uint64_t offset, std::size_t size, Visit visit) {
  Words words(key, offset / kWord);
  std::size_t done = 0;
  const auto partial = [&](std::size_t skip, std::size_t count) {
    const std::uint64_t word = words.next();
    const bool on = visit(done, reinterpret_cast<const std::byte*>(&word) + skip, count);
    done += count;
    return on;
  };
  const std::size_t skip = offset % kWord;
  if (skip > 0 && size > 0 && !partial(skip, size < kWord - skip ? size : kWord - skip)) return;
  for (; size - done >= kWord; done += kWord) {
    const std::uint64_t word = words.next();
    if (!visit(done, reinterpret_cast<const std::byte*>(&word), kWord)) return;
  }
  if (done < size) partial(0, size - done);
}

}  // namespace

void fill_content(std::uint64_t key, std::uint64_t offset, MutableByteSpan out) {
  for_each_word(key, offset, out.size(),
                [&](std::size_t at, const std::byte* word, std::size_t count) {
                  std::memcpy(out.data() + at, word, count);
                  return true;
                });
}

std::size_t first_wrong(std::uint64_t key, std::uint64_t offset, ByteSpan bytes) {
  std::size_t wrong = kAllRight;
  for_each_word(key, offset, bytes.size(),
                [&](std::size_t at, const std::byte* word, std::size_t count) {
                  if (std::memcmp(bytes.data() + at, word, count) == 0) return true;
                  wrong = at;
                  while (bytes[wrong] == word[wrong - at]) ++wrong;
                  return false;
                });
  return wrong;
}

std::size_t first_unpoisoned(ByteSpan bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != kPoison) return i;
  return kAllRight;
}

std::uint64_t hash_of(ByteSpan bytes) {
  std::uint64_t hash = bytes.size();
  std::size_t i = 0;
  for (; i + kWord <= bytes.size(); i += kWord) {
    hash = (hash ^ load_le<std::uint64_t>(bytes.data() + i)) * kStride;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * kStride;
  return mix64(hash);
}

}  // namespace zhinu::sim::check

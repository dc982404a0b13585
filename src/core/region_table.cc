#include "core/region_table.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace zhinu::core {
namespace {

// Key 0 or a key in use comes up once in 2^50 draws or so. More in a row: broken entropy.
constexpr int kDrawsMax = 8;

bool holds(MutableByteSpan memory, std::uint64_t offset, std::uint64_t length) {
  return offset <= memory.size() && length <= memory.size() - offset;
}

}  // namespace

RegionTable::RegionTable(std::uint32_t regions_max)
    : slots_(std::bit_ceil(std::size_t{regions_max} * 2 + 1)), regions_max_(regions_max) {}

Result<RegionKey> RegionTable::add(MutableByteSpan memory, RegionAccess access, Entropy& entropy) {
  if (count_ == regions_max_) return Errc::kFull;
  for (int draw = 0; draw < kDrawsMax; ++draw) {
    std::array<std::byte, sizeof(RegionKey::value)> random{};
    entropy.fill(random);
    const RegionKey key{load_le<std::uint64_t>(random.data())};
    if (key.value == 0) continue;
    Region& slot = slots_[slot_of(key)];
    if (slot.key == key) continue;
    slot = {.key = key, .memory = memory, .access = access};
    ++count_;
    return key;
  }
  ZHINU_ASSERT(false);
}

// The slots behind are moved up, so that a search may stop at the first free one.
Status RegionTable::remove(RegionKey key) {
  if (key.value == 0) return Errc::kUnknownRegion;
  std::size_t hole = slot_of(key);
  if (slots_[hole].key != key) return Errc::kUnknownRegion;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = after(hole); slots_[slot].key.value != 0; slot = after(slot)) {
    const std::size_t home_distance = (slot - home(slots_[slot].key)) & mask;
    if (home_distance < ((slot - hole) & mask)) continue;  // its home lies behind the hole
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = Region{};
  ZHINU_ASSERT(count_ > 0);
  --count_;
  return {};
}

Result<MutableByteSpan> RegionTable::find_for_write(RegionKey key, std::uint64_t offset,
                                                    std::uint64_t length) const {
  const Region& region = slots_[slot_of(key)];
  const bool allowed = region.key.value != 0 && region.access.remote_write;
  if (!allowed || !holds(region.memory, offset, length)) return Errc::kRegionRefused;
  return region.memory.subspan(offset, length);
}

Result<ByteSpan> RegionTable::find_for_read(RegionKey key, std::uint64_t offset,
                                            std::uint64_t length) const {
  const Region& region = slots_[slot_of(key)];
  const bool allowed = region.key.value != 0 && region.access.remote_read;
  if (!allowed || !holds(region.memory, offset, length)) return Errc::kRegionRefused;
  return ByteSpan(region.memory.subspan(offset, length));
}

std::size_t RegionTable::slot_of(RegionKey key) const {
  std::size_t slot = home(key);
  // Ends: at most half of the slots are in use.
  while (slots_[slot].key.value != 0 && slots_[slot].key != key) slot = after(slot);
  return slot;
}

}  // namespace zhinu::core

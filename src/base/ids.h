// Distinct types for distinct indices, so that two of them cannot be swapped.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace zhinu {

// An index or a name without arithmetic. `none()` is the value for "no such".
template <class Tag, class Rep = std::uint32_t>
struct Id {
  Rep value = std::numeric_limits<Rep>::max();

  static constexpr Id none() { return {}; }
  constexpr bool is_none() const { return value == std::numeric_limits<Rep>::max(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace zhinu

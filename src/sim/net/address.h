// How a simulated NIC is written into the core's opaque address.
//
// A NIC that changes its address gets the next generation; packets to an older
// generation reach nobody, like packets to an IP address that moved away.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "core/types.h"

namespace zhinu::sim {

struct NicAddress {
  std::uint32_t node = 0;
  std::uint8_t nic = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const NicAddress&, const NicAddress&) = default;
};

inline core::Address encode_address(const NicAddress& nic) {
  core::Address address;
  store_le<std::uint32_t>(address.bytes.data(), nic.node);
  store_le<std::uint8_t>(address.bytes.data() + 4, nic.nic);
  store_le<std::uint32_t>(address.bytes.data() + 8, nic.generation);
  return address;
}

inline NicAddress decode_address(const core::Address& address) {
  return {load_le<std::uint32_t>(address.bytes.data()),
          load_le<std::uint8_t>(address.bytes.data() + 4),
          load_le<std::uint32_t>(address.bytes.data() + 8)};
}

}  // namespace zhinu::sim

#include "sim/net/address.h"

#include <gtest/gtest.h>

namespace zhinu::sim {
namespace {

TEST(Address, decode_address__gives_back_what_was_encoded) {
  const NicAddress nic{63, 3, 70'000};
  EXPECT_EQ(decode_address(encode_address(nic)), nic);
  EXPECT_FALSE(encode_address(nic) == encode_address({63, 3, 70'001}));
}

}  // namespace
}  // namespace zhinu::sim

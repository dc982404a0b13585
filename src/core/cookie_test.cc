#include "core/cookie.h"

#include <gtest/gtest.h>

#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::address_of;
using test::SeededEntropy;

constexpr Duration kLifetime = seconds(10);
// The first instant of a step.
constexpr Instant kStep = Instant{} + kLifetime * 100;

class CookieMintTest : public ::testing::Test {
 protected:
  SeededEntropy entropy_{1};
  CookieMint mint_{kLifetime, entropy_};
  const CookieHolder holder_{
      .from = address_of(1), .connection = 11, .incarnation = 22, .rank = 33};
  const Cookie cookie_ = mint_.make(kStep, holder_);
};

TEST_F(CookieMintTest, is_valid__in_its_own_step) {
  EXPECT_TRUE(mint_.is_valid(kStep, holder_, cookie_));
  EXPECT_TRUE(mint_.is_valid(kStep + kLifetime - nanoseconds(1), holder_, cookie_));
}

TEST_F(CookieMintTest, is_valid__in_the_next_step) {
  EXPECT_TRUE(mint_.is_valid(kStep + kLifetime, holder_, cookie_));
  EXPECT_TRUE(mint_.is_valid(kStep + kLifetime * 2 - nanoseconds(1), holder_, cookie_));
}

TEST_F(CookieMintTest, is_valid__expired) {
  EXPECT_FALSE(mint_.is_valid(kStep + kLifetime * 2, holder_, cookie_));
  EXPECT_FALSE(mint_.is_valid(kStep + kLifetime * 1'000, holder_, cookie_));
}

TEST_F(CookieMintTest, is_valid__not_before_it_was_made) {
  EXPECT_FALSE(mint_.is_valid(kStep - nanoseconds(1), holder_, cookie_));
}

TEST_F(CookieMintTest, is_valid__for_one_to_two_lifetimes_wherever_in_a_step_it_was_made) {
  for (std::int64_t tenth = 0; tenth < 10; ++tenth) {
    const Instant made = kStep + kLifetime * tenth / 10;
    const Cookie cookie = mint_.make(made, holder_);
    EXPECT_TRUE(mint_.is_valid(made + kLifetime, holder_, cookie)) << tenth;
    EXPECT_FALSE(mint_.is_valid(made + kLifetime * 2, holder_, cookie)) << tenth;
  }
}

TEST_F(CookieMintTest, is_valid__at_the_start_of_time) {
  const Cookie cookie = mint_.make(Instant{}, holder_);
  EXPECT_TRUE(mint_.is_valid(Instant{}, holder_, cookie));
  EXPECT_TRUE(mint_.is_valid(Instant{} + kLifetime, holder_, cookie));
}

TEST_F(CookieMintTest, is_valid__another_holder) {
  CookieHolder other = holder_;
  other.from = address_of(2);
  EXPECT_FALSE(mint_.is_valid(kStep, other, cookie_));
  other = holder_;
  other.from.bytes.back() ^= std::byte{1};
  EXPECT_FALSE(mint_.is_valid(kStep, other, cookie_));
  other = holder_;
  ++other.connection;
  EXPECT_FALSE(mint_.is_valid(kStep, other, cookie_));
  other = holder_;
  ++other.incarnation;
  EXPECT_FALSE(mint_.is_valid(kStep, other, cookie_));
  other = holder_;
  ++other.rank;
  EXPECT_FALSE(mint_.is_valid(kStep, other, cookie_));
}

TEST_F(CookieMintTest, is_valid__zero_cookie) {
  EXPECT_FALSE(mint_.is_valid(kStep, holder_, Cookie{}));
}

TEST_F(CookieMintTest, is_valid__any_flipped_bit) {
  for (std::size_t bit = 0; bit < cookie_.size() * 8; ++bit) {
    Cookie forged = cookie_;
    forged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(mint_.is_valid(kStep, holder_, forged)) << "bit " << bit;
  }
}

TEST_F(CookieMintTest, make__differs_by_process) {
  const CookieMint restarted(kLifetime, entropy_);
  EXPECT_NE(restarted.make(kStep, holder_), cookie_);
  EXPECT_FALSE(restarted.is_valid(kStep, holder_, cookie_));
}

TEST_F(CookieMintTest, make__equal_within_a_step) {
  EXPECT_EQ(mint_.make(kStep + kLifetime - nanoseconds(1), holder_), cookie_);
  EXPECT_NE(mint_.make(kStep + kLifetime, holder_), cookie_);
}

}  // namespace
}  // namespace zhinu::core

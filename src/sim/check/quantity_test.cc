#include "sim/check/quantity.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace zhinu::sim::check {
namespace {

TEST(Quantity, write_duration__largest_unit_that_is_exact) {
  EXPECT_EQ(write_duration(milliseconds(2)), "2 ms");
  EXPECT_EQ(write_duration(microseconds(1'500)), "1500 us");
  EXPECT_EQ(write_duration(seconds(3)), "3 s");
  EXPECT_EQ(write_duration(nanoseconds(7)), "7 ns");
  EXPECT_EQ(write_duration({}), "0 ns");
  EXPECT_EQ(write_duration(Duration{-1}), "never");
}

TEST(Quantity, write_bytes__and_rates_and_percent) {
  EXPECT_EQ(write_bytes(65'536), "64 KiB");
  EXPECT_EQ(write_bytes(1'025), "1025 B");
  EXPECT_EQ(write_rate(400'000'000), "400 Mbit/s");
  EXPECT_EQ(write_percent(5'000), "0.5 %");
  EXPECT_EQ(write_percent(1), "0.0001 %");
  EXPECT_EQ(write_percent(1'000'000), "100 %");
  EXPECT_EQ(write_percent(0), "0 %");
}

TEST(Quantity, read__gives_back_what_was_written) {
  Prng dice(5);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t value = dice.next() >> dice.between(10, 63);
    EXPECT_EQ(read_bytes(write_bytes(value)).value, value);
    EXPECT_EQ(read_rate(write_rate(value)).value, value);
    EXPECT_EQ(read_percent(write_percent(value % 1'000'001)).value, value % 1'000'001);
    const Duration duration{static_cast<std::int64_t>(value)};
    EXPECT_EQ(read_duration(write_duration(duration)).value, duration);
  }
  EXPECT_EQ(read_duration("never").value, Duration{-1});
}

TEST(Quantity, read__a_bare_number_is_an_error_that_suggests_a_unit) {
  EXPECT_FALSE(read_duration("2").value.has_value());
  EXPECT_STREQ(read_duration("2").expected, "a duration such as 2 ms");
  EXPECT_FALSE(read_bytes("64").value.has_value());
  EXPECT_FALSE(read_rate("400").value.has_value());
  EXPECT_FALSE(read_percent("5").value.has_value());
}

TEST(Quantity, read__nonsense) {
  EXPECT_FALSE(read_duration("2 parsecs").value.has_value());
  EXPECT_FALSE(read_duration("-2 ms").value.has_value());
  EXPECT_FALSE(read_bytes("99999999999999999999 GiB").value.has_value());
  EXPECT_FALSE(read_percent("101 %").value.has_value());
  EXPECT_FALSE(read_count("2 nodes").value.has_value());
  EXPECT_FALSE(read_count("").value.has_value());
}

}  // namespace
}  // namespace zhinu::sim::check

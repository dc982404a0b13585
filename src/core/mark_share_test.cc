#include "core/mark_share.h"

#include <gtest/gtest.h>

namespace zhinu::core {
namespace {

constexpr Duration kRtt = microseconds(10);
Instant at_us(std::int64_t us) { return Instant{} + microseconds(us); }

TEST(MarkShare, per_mille__before_any_packet) { EXPECT_EQ(MarkShare().per_mille(), 0U); }

TEST(MarkShare, add__first_packets_end_a_round_at_once) {
  MarkShare share;
  share.add(at_us(5), 4, 1, kRtt);
  EXPECT_EQ(share.per_mille(), 250U);
}

TEST(MarkShare, add__counts_for_one_rtt) {
  MarkShare share;
  share.add(at_us(0), 1, 0, kRtt);
  share.add(at_us(4), 10, 10, kRtt);
  share.add(at_us(9), 10, 0, kRtt);
  EXPECT_EQ(share.per_mille(), 0U) << "the round is not over";
  share.add(at_us(10), 20, 0, kRtt);
  EXPECT_EQ(share.per_mille(), 250U);
  share.add(at_us(19), 100, 100, kRtt);
  EXPECT_EQ(share.per_mille(), 250U) << "a new round began at 10 us";
  share.add(at_us(20), 100, 0, kRtt);
  EXPECT_EQ(share.per_mille(), 500U);
}

TEST(MarkShare, add__round_without_marks) {
  MarkShare share;
  share.add(at_us(0), 4, 4, kRtt);
  share.add(at_us(10), 4, 0, kRtt);
  EXPECT_EQ(share.per_mille(), 0U);
}

TEST(MarkShare, add__one_mark_among_thousands_does_not_vanish) {
  MarkShare share;
  share.add(at_us(0), 100'000, 1, kRtt);
  EXPECT_EQ(share.per_mille(), 1U);
}

TEST(MarkShare, add__more_marks_than_packets) {
  MarkShare share;
  share.add(at_us(0), 3, 0xffff'ffff, kRtt);
  EXPECT_EQ(share.per_mille(), 1'000U);
}

TEST(MarkShare, add__marks_without_packets_wait_for_some) {
  MarkShare share;
  share.add(at_us(0), 0, 1, kRtt);
  EXPECT_EQ(share.per_mille(), 0U);
  share.add(at_us(1), 2, 0, kRtt);
  EXPECT_EQ(share.per_mille(), 500U);
}

}  // namespace
}  // namespace zhinu::core

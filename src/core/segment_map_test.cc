// A failing property prints its seed; RC_PARAMS="seed=..." runs it again.
#include "core/segment_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace zhinu::core {

struct SegmentMapStart {
  // As if everything below `offset` had been taken.
  static void at(SegmentMap& map, std::uint64_t offset) {
    map.contiguous_ = offset;
    map.delivered_ = offset;
  }
};

namespace {

constexpr std::uint64_t kUnit = wire::kSegmentUnitBytes;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// A map with its own words, and what it asked to copy.
struct Fixture {
  std::vector<std::uint64_t> words;
  SegmentMap map;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> copied;

  Fixture(std::size_t word_count, std::uint64_t message_bytes)
      : words(word_count), map(words, message_bytes) {}

  std::uint64_t take(std::uint64_t offset, std::uint64_t length) {
    copied.clear();
    return map.take(offset, length, [this](std::uint64_t at, std::uint64_t bytes) {
      copied.emplace_back(at, bytes);
    });
  }
  // Takes everything below `end` in pieces of one unit.
  void take_up_to(std::uint64_t end) {
    for (std::uint64_t at = map.contiguous(); at < end; at += kUnit) {
      take(at, std::min(kUnit, map.message_bytes() - at));
    }
  }
};
using Copied = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(SegmentMap, constructor__empty_message_is_complete) {
  const SegmentMap none;
  EXPECT_TRUE(none.complete());
  EXPECT_EQ(none.check(0, 0).error(), Errc::kBadLength);
  EXPECT_EQ(none.check(0, 1).error(), Errc::kBadLength);
  const Fixture with_words(1, 0);
  EXPECT_TRUE(with_words.map.complete());
  EXPECT_EQ(with_words.map.message_bytes(), 0U);
}

TEST(SegmentMapDeathTest, constructor__words_that_cannot_serve) {
  std::vector<std::uint64_t> words(3);
  EXPECT_DEATH(SegmentMap(words, 1'000), "has_single_bit");
  EXPECT_DEATH(SegmentMap({}, 1), "has_single_bit");
  words.resize(2);
  words[1] = 1;
  EXPECT_DEATH(SegmentMap(words, 1'000), "all_of");
}

TEST(SegmentMap, limit__span_above_what_is_contiguous) {
  Fixture f(2, 1 << 20);
  EXPECT_EQ(f.map.limit(), 128 * kUnit);
  f.take(0, 3 * kUnit);
  EXPECT_EQ(f.map.limit(), 131 * kUnit);
  f.take(4 * kUnit, kUnit);
  EXPECT_EQ(f.map.limit(), 131 * kUnit) << "only contiguous bytes move it";
}

TEST(SegmentMap, limit__message_end_is_rounded_down) {
  Fixture f(1, kUnit + 5);
  f.take(0, kUnit + 5);
  ASSERT_TRUE(f.map.complete());
  EXPECT_EQ(f.map.limit(), 65 * kUnit);
}

TEST(SegmentMap, check__lengths) {
  const Fixture f(64, 1'000);
  EXPECT_TRUE(f.map.check(0, 128).ok());
  EXPECT_TRUE(f.map.check(0, 1'000).ok());
  EXPECT_TRUE(f.map.check(896, 104).ok()) << "the end need not be a multiple";
  EXPECT_EQ(f.map.check(0, 0).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(0, 100).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(100, 128).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(896, 100).error(), Errc::kBadLength);
}

TEST(SegmentMap, check__beyond_the_message) {
  const Fixture f(64, 1'000);
  EXPECT_EQ(f.map.check(0, 1'001).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(896, 128).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(1'024, 128).error(), Errc::kBadLength);
  EXPECT_EQ(f.map.check(kMax - 127, 256).error(), Errc::kBadLength) << "the sum overflows";
  EXPECT_EQ(f.map.check(128, kMax).error(), Errc::kBadLength);
}

TEST(SegmentMap, check__full_beyond_the_limit) {
  Fixture f(1, 1 << 20);
  EXPECT_TRUE(f.map.check(0, 64 * kUnit).ok());
  EXPECT_EQ(f.map.check(0, 65 * kUnit).error(), Errc::kFull);
  EXPECT_EQ(f.map.check(64 * kUnit, kUnit).error(), Errc::kFull);
  f.take(0, kUnit);
  EXPECT_TRUE(f.map.check(64 * kUnit, kUnit).ok());
  EXPECT_EQ(f.map.check(65 * kUnit, kUnit).error(), Errc::kFull);
}

TEST(SegmentMap, check__changes_nothing) {
  const Fixture f(1, 1 << 20);
  EXPECT_TRUE(f.map.check(kUnit, kUnit).ok());
  EXPECT_EQ(f.map.delivered(), 0U);
  EXPECT_EQ(f.words[0], 0U);
}

TEST(SegmentMap, take__whole_message_in_one_segment) {
  Fixture f(1, 1'000);
  EXPECT_EQ(f.take(0, 1'000), 1'000U);
  EXPECT_EQ(f.copied, (Copied{{0, 1'000}}));
  EXPECT_TRUE(f.map.complete());
  EXPECT_EQ(f.map.contiguous(), 1'000U);
  EXPECT_EQ(f.words[0], 0U) << "the words go back to the pool as they came";
}

TEST(SegmentMap, take__duplicate_below_contiguous) {
  Fixture f(1, 10 * kUnit);
  f.take(0, 2 * kUnit);
  EXPECT_EQ(f.take(0, 2 * kUnit), 0U);
  EXPECT_EQ(f.take(kUnit, kUnit), 0U);
  EXPECT_TRUE(f.copied.empty());
  EXPECT_EQ(f.map.delivered(), 2 * kUnit);
}

TEST(SegmentMap, take__duplicate_above_a_gap) {
  Fixture f(1, 10 * kUnit);
  EXPECT_EQ(f.take(4 * kUnit, 2 * kUnit), 2 * kUnit);
  EXPECT_EQ(f.take(4 * kUnit, 2 * kUnit), 0U);
  EXPECT_EQ(f.take(5 * kUnit, kUnit), 0U);
  EXPECT_TRUE(f.copied.empty());
  EXPECT_EQ(f.map.contiguous(), 0U);
}

TEST(SegmentMap, take__segment_overlaps_message_end) {
  Fixture f(1, 10 * kUnit + 1);
  f.take(0, 9 * kUnit);
  EXPECT_EQ(f.take(8 * kUnit, 2 * kUnit + 1), kUnit + 1);
  EXPECT_EQ(f.copied, (Copied{{9 * kUnit, kUnit + 1}}));
  EXPECT_TRUE(f.map.complete());
}

TEST(SegmentMap, take__last_unit_first) {
  Fixture f(1, 2 * kUnit + 7);
  EXPECT_EQ(f.take(2 * kUnit, 7), 7U);
  EXPECT_EQ(f.map.delivered(), 7U);
  EXPECT_EQ(f.map.contiguous(), 0U);
  EXPECT_EQ(f.take(2 * kUnit, 7), 0U);
  EXPECT_EQ(f.take(0, 2 * kUnit), 2 * kUnit);
  EXPECT_EQ(f.map.contiguous(), 2 * kUnit + 7);
}

TEST(SegmentMap, take__new_part_between_two_old_ones) {
  Fixture f(1, 20 * kUnit);
  f.take(2 * kUnit, kUnit);
  f.take(5 * kUnit, kUnit);
  EXPECT_EQ(f.take(2 * kUnit, 4 * kUnit), 2 * kUnit);
  EXPECT_EQ(f.copied, (Copied{{3 * kUnit, 2 * kUnit}}));
}

TEST(SegmentMap, take__several_parts_around_old_ones) {
  Fixture f(1, 20 * kUnit);
  f.take(0, kUnit);
  f.take(2 * kUnit, kUnit);
  f.take(5 * kUnit, 2 * kUnit);
  EXPECT_EQ(f.take(0, 8 * kUnit), 4 * kUnit);
  EXPECT_EQ(f.copied, (Copied{{kUnit, kUnit}, {3 * kUnit, 2 * kUnit}, {7 * kUnit, kUnit}}));
  EXPECT_EQ(f.map.contiguous(), 8 * kUnit);
}

TEST(SegmentMap, take__part_over_several_words) {
  Fixture f(4, 1 << 20);
  f.take(70 * kUnit, kUnit);
  EXPECT_EQ(f.take(10 * kUnit, 200 * kUnit), 199 * kUnit);
  EXPECT_EQ(f.copied, (Copied{{10 * kUnit, 60 * kUnit}, {71 * kUnit, 139 * kUnit}}));
  EXPECT_EQ(f.take(0, 10 * kUnit), 10 * kUnit);
  EXPECT_EQ(f.map.contiguous(), 210 * kUnit);
}

TEST(SegmentMap, take__whole_span_at_once_in_each_place_of_the_ring) {
  Fixture f(2, 1'000 * kUnit);
  for (std::uint64_t start = 0; start < 200; ++start) {
    f.take_up_to(start * kUnit);
    const SegmentMap before = f.map;
    ASSERT_EQ(f.take((start + 1) * kUnit, 127 * kUnit), 127 * kUnit);
    ASSERT_EQ(f.take(start * kUnit, kUnit), kUnit);
    ASSERT_EQ(f.map.contiguous(), before.contiguous() + 128 * kUnit);
    ASSERT_EQ(f.words, std::vector<std::uint64_t>(2));
    f.map = before;  // the words are as they were
  }
}

TEST(SegmentMap, take__message_of_more_than_ten_spans) {
  const std::uint64_t message_bytes = 11 * 64 * kUnit + 1;
  Fixture f(1, message_bytes);
  std::uint64_t taken = 0;
  // Pairs of units, the second first.
  while (!f.map.complete()) {
    const std::uint64_t at = f.map.contiguous();
    const std::uint64_t left = message_bytes - at;
    if (left > kUnit) taken += f.take(at + kUnit, std::min(kUnit, left - kUnit));
    taken += f.take(at, std::min(kUnit, left));
  }
  EXPECT_EQ(taken, message_bytes);
  EXPECT_EQ(f.words[0], 0U);
}

TEST(SegmentMap, take__offsets_beyond_2_to_63) {
  Fixture f(1, kMax);
  const std::uint64_t start = (1ULL << 63) - 32 * kUnit;
  SegmentMapStart::at(f.map, start);
  EXPECT_EQ(f.map.limit(), start + 64 * kUnit);
  EXPECT_EQ(f.map.check(start + 64 * kUnit, kUnit).error(), Errc::kFull);
  EXPECT_EQ(f.take(start + 32 * kUnit, 32 * kUnit), 32 * kUnit);
  EXPECT_EQ(f.take(start, 33 * kUnit), 32 * kUnit);
  EXPECT_EQ(f.copied, (Copied{{start, 32 * kUnit}}));
  EXPECT_EQ(f.map.contiguous(), start + 64 * kUnit);
}

TEST(SegmentMap, take__last_unit_of_the_largest_message) {
  Fixture f(1, kMax);
  const std::uint64_t last = kMax / kUnit * kUnit;
  SegmentMapStart::at(f.map, last - 2 * kUnit);
  EXPECT_EQ(f.map.limit(), kMax) << "it does not wrap";
  EXPECT_EQ(f.map.check(last, kUnit).error(), Errc::kBadLength);
  EXPECT_EQ(f.take(last, kUnit - 1), kUnit - 1);
  EXPECT_EQ(f.take(last - 2 * kUnit, 3 * kUnit - 1), 2 * kUnit);
  EXPECT_EQ(f.map.contiguous(), kMax);
  EXPECT_TRUE(f.map.complete());
}

TEST(SegmentMap, check__huge_segments_do_not_overflow) {
  const Fixture f(1, 1ULL << 63);
  EXPECT_EQ(f.map.check(0, 1ULL << 63).error(), Errc::kFull);
  EXPECT_EQ(f.map.check(kUnit, (1ULL << 63) - kUnit).error(), Errc::kFull);
  EXPECT_EQ(f.map.check((1ULL << 63) - kUnit, kUnit).error(), Errc::kFull);
}

TEST(SegmentMapDeathTest, take__segment_that_was_refused) {
  Fixture f(1, 1 << 20);
  EXPECT_DEATH(f.take(64 * kUnit, kUnit), "check");
  EXPECT_DEATH(f.take(1, kUnit), "check");
}

// The reference: one bool for each byte of a small message.
void compare_with_reference(std::uint64_t seed) {
  Prng prng(seed);
  const std::size_t word_count = std::size_t{1} << prng.below(3);
  const std::uint64_t message_bytes = 1 + prng.below(8 * word_count * 64 * kUnit);
  Fixture f(word_count, message_bytes);
  std::vector<bool> delivered(message_bytes);
  std::uint64_t contiguous = 0;
  std::uint64_t total = 0;
  const std::uint64_t units = message_bytes / kUnit + 1;
  while (total < message_bytes) {
    const std::uint64_t base = prng.below(3) == 0 ? contiguous / kUnit : prng.below(units);
    const std::uint64_t offset = base * kUnit;
    if (offset >= message_bytes) continue;
    const std::uint64_t length = std::min((1 + prng.below(70)) * kUnit, message_bytes - offset);
    const std::uint64_t limit = contiguous / kUnit * kUnit + word_count * 64 * kUnit;
    const Status status = f.map.check(offset, length);
    RC_ASSERT(status.error() == (offset + length > limit ? Errc::kFull : Errc::kOk));
    if (!status.ok()) continue;

    const std::uint64_t taken = f.take(offset, length);
    std::uint64_t copied = 0;
    for (const auto& [at, bytes] : f.copied) {
      RC_ASSERT(at >= offset && at + bytes <= offset + length);
      RC_ASSERT(at == offset || delivered[at - 1]);  // maximal
      RC_ASSERT(at + bytes == offset + length || delivered[at + bytes]);
      for (std::uint64_t i = at; i < at + bytes; ++i) {
        RC_ASSERT(!delivered[i]);
        delivered[i] = true;
      }
      copied += bytes;
    }
    RC_ASSERT(taken == copied);
    for (std::uint64_t i = offset; i < offset + length; i += kUnit) RC_ASSERT(delivered[i]);
    total += taken;
    while (contiguous < message_bytes && delivered[contiguous]) ++contiguous;
    RC_ASSERT(f.map.contiguous() == contiguous);
    RC_ASSERT(f.map.delivered() == total);
  }
  RC_ASSERT(f.map.complete());
  RC_ASSERT(std::all_of(f.words.begin(), f.words.end(), [](auto word) { return word == 0; }));
}

TEST(SegmentMap, random_segments_equal_the_reference) {
  EXPECT_TRUE(rc::check("every byte once", compare_with_reference));
}

}  // namespace
}  // namespace zhinu::core

// The malloc test: once a session is up, nothing that an endpoint does allocates.
#include <array>
#include <vector>

#include "tests/core_counted_pair_test.h"

namespace zhinu::sim::test {
namespace {

bool allocations_are_told() {
  const std::uint64_t before = core::test::allocations;
  std::vector<std::byte> bytes(1);
  asm volatile("" : : "r"(bytes.data()) : "memory");  // else the allocation may be left out
  return core::test::allocations > before;
}

class core_allocations : public testing::TestWithParam<SealMode> {
 protected:
  void SetUp() override {
    if (!allocations_are_told()) GTEST_SKIP() << "this build does not tell of allocations";
  }

  // One of each kind in both directions: small, empty, announced, one-sided, and a message
  // whose receive is posted later.
  void post_all(std::uint32_t tag) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      pair_.send(1 - side, kSmall, tag + 3);
      for (const std::size_t bytes : {kSmall, std::size_t{0}, kLarge}) {
        pair_.receive(side, bytes, tag + (bytes == kLarge ? 1 : 0));
        pair_.send(1 - side, bytes, tag + (bytes == kLarge ? 1 : 0));
        pair_.write(side, bytes);
        pair_.read(side, bytes);
      }
    }
  }
  void post_late(std::uint32_t tag) {
    for (std::uint32_t side = 0; side < 2; ++side) pair_.receive(side, kSmall, tag + 3);
  }
  static constexpr std::size_t kPosted = 14;  // by both, on each side
  // What never finds its other half.
  void post_alone() {
    for (std::uint32_t side = 0; side < 2; ++side) {
      pair_.receive(side, kSmall, 1'000);
      pair_.send(side, kLarge, 1'001);
    }
  }

  void run_rounds(std::uint32_t rounds) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::size_t before = pair_.ended(0, Errc::kOk) + pair_.ended(1, Errc::kOk);
      post_all(round * 8);
      pair_.run_for(milliseconds(1));
      post_late(round * 8);
      EXPECT_TRUE(pair_.run_until([&] {
        return pair_.ended(0, Errc::kOk) + pair_.ended(1, Errc::kOk) == before + 2 * kPosted;
      })) << round;
    }
  }

  CountedPair pair_{GetParam()};
  std::uint64_t sum_ = 0;
};

TEST_P(core_allocations, messages_writes_and_reads__none) {
  run_rounds(20);
  EXPECT_EQ(pair_.notified(0), 60U);
  EXPECT_EQ(pair_.notified(1), 60U);
  pair_.run_for(seconds(1));
  EXPECT_EQ(pair_.allocated(), 0U);
}

TEST_P(core_allocations, loss_recovery__none) {
  pair_.drop_every(9);
  run_rounds(20);
  EXPECT_GT(pair_.counter(0, Counter::kPacketsLost), 100U);
  EXPECT_GT(pair_.counter(0, Counter::kProbeTimeouts), 0U);
  EXPECT_EQ(pair_.allocated(), 0U);
}

TEST_P(core_allocations, path_that_dies_and_returns__none) {
  pair_.set_down(1, true);
  run_rounds(5);
  EXPECT_EQ(pair_.counter(0, Counter::kPathsDied), 1U);
  pair_.set_down(1, false);
  run_rounds(5);
  EXPECT_TRUE(pair_.run_until([&] { return pair_.counter(0, Counter::kPathsReturned) == 1; }));
  EXPECT_EQ(pair_.allocated(), 0U);
}

// All is silent for a while; then what waited goes on.
TEST_P(core_allocations, every_path_down__none) {
  for (std::uint8_t path = 0; path < kPaths; ++path) pair_.set_down(path, true);
  post_all(0);
  post_late(0);
  pair_.run_for(milliseconds(500));
  EXPECT_EQ(pair_.ended(0, Errc::kOk), 0U);
  for (std::uint8_t path = 0; path < kPaths; ++path) pair_.set_down(path, false);
  EXPECT_TRUE(pair_.run_until([&] { return pair_.ended(0, Errc::kOk) == kPosted; }));
  EXPECT_EQ(pair_.allocated(), 0U);
}

// Nobody receives: what is held, not held, announced and asked for fills all pools.
TEST_P(core_allocations, full_pools__none) {
  for (const std::size_t bytes : {kSmall, kLarge}) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      while (pair_.send(side, bytes, 1) != core::Operation{}) {
      }
    }
    pair_.run_for(milliseconds(100));
    for (std::uint32_t side = 0; side < 2; ++side) {
      for (std::uint32_t i = 0; i < 64; ++i) pair_.receive(side, bytes, 1);
      EXPECT_EQ(pair_.receive(side, bytes, 1), core::Operation{});
    }
    pair_.run_for(milliseconds(500));
  }
  EXPECT_GT(pair_.counter(0, Counter::kEagerNotHeld), 0U);
  EXPECT_GT(pair_.counter(0, Counter::kCreditProbes), 0U);
  EXPECT_EQ(pair_.ended(0, Errc::kOk), 4 * 64U);
  EXPECT_EQ(pair_.allocated(), 0U);
}

TEST_P(core_allocations, cancels_and_deadlines__none) {
  pair_.drop_every(20);
  for (std::uint32_t round = 0; round < 30; ++round) {
    std::array<core::Operation, 8> operations;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::size_t bytes = i % 2 == 0 ? kSmall : kLarge;
      operations[2 * i] = pair_.send(0, bytes, i);
      operations[2 * i + 1] = pair_.receive(0, bytes, i);
      if (i < 2) pair_.receive(1, bytes, i);
      if (i < 2) pair_.send(1, bytes, i);
      pair_.send(1, bytes, 9, pair_.now() + microseconds(20 * round));
      pair_.receive(1, bytes, 9, pair_.now() + microseconds(20 * round));
    }
    pair_.run_for(microseconds(7 * round));
    for (const core::Operation operation : operations) {
      const Counted counted(sum_);
      static_cast<void>(pair_.at(0).cancel(pair_.now(), operation));
    }
    pair_.run_for(milliseconds(20));
    EXPECT_EQ(sum_, 0U);
  }
  EXPECT_GT(pair_.ended(0, Errc::kCancelled), 0U);
  EXPECT_GT(pair_.ended(1, Errc::kPeerCancelled), 0U);
  EXPECT_GT(pair_.ended(1, Errc::kDeadlineExceeded), 0U);
  EXPECT_EQ(pair_.allocated(), 0U);
}

// At each stage of what is under way.
TEST_P(core_allocations, abort_and_destroy__none) {
  for (const std::int64_t stage : {0, 5, 15, 25, 50, 20'000}) {
    const std::size_t before = pair_.ended(1, Errc::kAborted);
    post_all(0);
    post_alone();
    pair_.run_for(microseconds(stage));
    pair_.call([&] { return pair_.at(0).abort(pair_.now(), kOne, Errc::kAborted); });
    pair_.run_for(milliseconds(100));
    EXPECT_GT(pair_.ended(1, Errc::kAborted), before) << stage;
    for (std::uint32_t side = 0; side < 2; ++side) {
      pair_.call([&] { return pair_.at(side).destroy_communicator(pair_.now(), kOne); });
      EXPECT_TRUE(pair_.at(side).create_communicator(kOne).ok());
    }
  }
  EXPECT_EQ(pair_.allocated(), 0U);
}

TEST_P(core_allocations, revoked_region_and_close__none) {
  post_all(0);
  pair_.run_for(microseconds(15));
  pair_.call([&] { return pair_.at(0).revoke_region(pair_.now(), pair_.key(0)); });
  pair_.run_for(milliseconds(100));
  EXPECT_GT(pair_.ended(0, Errc::kRegionRefused) + pair_.ended(1, Errc::kRegionRefused), 0U);
  post_all(8);
  post_alone();
  pair_.run_for(microseconds(15));
  pair_.call([&] { return pair_.at(1).close_peer(pair_.now(), {0}); });
  pair_.run_for(milliseconds(100));
  EXPECT_GT(pair_.ended(0, Errc::kPeerClosed), 0U);
  EXPECT_EQ(pair_.allocated(), 0U);
}

std::string name_of(const testing::TestParamInfo<SealMode>& seal) {
  constexpr std::array kNames = {"none", "crc32c", "gmac"};
  return kNames[static_cast<std::size_t>(seal.param)];
}

INSTANTIATE_TEST_SUITE_P(seals, core_allocations,
                         testing::Values(SealMode::kNone, SealMode::kCrc32c, SealMode::kGmac),
                         name_of);

// The arena is all that the constructor allocates beside the endpoint itself.
TEST(core_footprint, arena__is_what_the_constructor_allocates) {
  if (!allocations_are_told()) GTEST_SKIP() << "this build does not tell of allocations";
  const core::Identity identity{
      .rank = 0, .world = 1, .incarnation = 1, .seal = SealMode::kGmac, .job_key = {}};
  SeededEntropy entropy;
  for (const core::EndpointOptions& options : {core::EndpointOptions{}, small_options()}) {
    const std::uint64_t before = core::test::allocated_bytes;
    const Endpoint endpoint(options, identity, entropy);
    const std::uint64_t allocated = core::test::allocated_bytes - before;
    const Endpoint::Footprint print = endpoint.footprint();
    EXPECT_EQ(print.endpoint + print.arena, allocated);
  }
}

// A peer costs what its paths cost, not what it might have.
TEST(core_footprint, add_peer__allocates_for_the_paths_it_has) {
  if (!allocations_are_told()) GTEST_SKIP() << "this build does not tell of allocations";
  const core::Identity identity{
      .rank = 0, .world = 1, .incarnation = 1, .seal = SealMode::kGmac, .job_key = {}};
  SeededEntropy entropy;
  Endpoint endpoint({}, identity, entropy);
  const std::vector<core::PathConfig> paths(9);
  const auto allocated_for = [&](std::uint32_t rank, std::size_t count) {
    const std::uint64_t before = core::test::allocated_bytes;
    EXPECT_TRUE(endpoint.add_peer({}, {.rank = rank, .paths = std::span(paths).first(count)}).ok());
    return core::test::allocated_bytes - before;
  };
  allocated_for(1, 1);  // the timers grow by more than one at a time
  allocated_for(2, 1);
  const std::uint64_t least = allocated_for(3, 1);
  EXPECT_LE(least, 8'192U);
  EXPECT_EQ(allocated_for(4, 9) - least, 8 * endpoint.footprint().path_out);
}

}  // namespace
}  // namespace zhinu::sim::test

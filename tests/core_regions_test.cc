// Writes to and reads of remote memory: what is refused, what a revocation means at each
// moment, and the order of notifications.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr std::size_t kSmall = 1'000;
constexpr std::size_t kLarge = 3'000'000;

PairOptions four_paths(std::uint64_t seed = 1) {
  PairOptions options;
  options.paths = 4;
  options.seed = seed;
  return options;
}

LinkFaults lossy(std::uint32_t loss_ppm, std::uint32_t reorder_ppm) {
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  faults.reorder_ppm = reorder_ppm;
  faults.reorder_delay = microseconds(300);
  return faults;
}

core::RegionKey region_of(Pair& pair, std::uint32_t side, MutableByteSpan memory,
                          core::RegionAccess access = {true, true}) {
  const auto region = pair.endpoint(side).register_region(memory, access);
  EXPECT_TRUE(region.ok());
  return region.value();
}

core::WriteArgs write_args(ByteSpan data, core::RegionKey region, std::uint64_t offset = 0) {
  core::WriteArgs args;
  args.data = data;
  args.region = region;
  args.offset = offset;
  return args;
}

core::ReadArgs read_args(MutableByteSpan buffer, core::RegionKey region, std::uint64_t offset = 0) {
  core::ReadArgs args;
  args.buffer = buffer;
  args.region = region;
  args.offset = offset;
  return args;
}

void revoke(Pair& pair, std::uint32_t side, core::RegionKey region) {
  EXPECT_TRUE(pair.endpoint(side).revoke_region(pair.now(), region).ok());
  pair.touch(side);
}

void expect_healthy(Pair& pair) {
  expect_exchange(pair, content(200'000), 0, 60'000);
  expect_exchange(pair, content(300), 1, 60'000);
  EXPECT_EQ(pair.count(0, EventKind::kPeerDown), 0U);
  EXPECT_EQ(pair.count(1, EventKind::kPeerDown), 0U);
}

TEST(core_regions, key_range_and_access__are_checked_at_every_size) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes memory(kLarge, std::byte{0x22});
  const Bytes before = memory;
  const core::RegionKey both = region_of(pair, 1, memory);
  const core::RegionKey read_only = region_of(pair, 1, memory, {true, false});
  const core::RegionKey write_only = region_of(pair, 1, memory, {false, true});
  for (const std::size_t size : {std::size_t{0}, kSmall, kLarge - 1}) {
    const Bytes data = content(size);
    Bytes buffer(size);
    const auto written = [&](core::RegionKey key, std::uint64_t offset) {
      return result_of(pair, 0, pair.write(0, write_args(data, key, offset))).status;
    };
    const auto got = [&](core::RegionKey key, std::uint64_t offset) {
      return result_of(pair, 0, pair.read(0, read_args(buffer, key, offset))).status;
    };
    const std::uint64_t beyond = kLarge - size + 1;
    EXPECT_EQ(written({both.value + 1}, 0), Errc::kRegionRefused);
    EXPECT_EQ(written(read_only, 0), Errc::kRegionRefused);
    EXPECT_EQ(written(both, beyond), Errc::kRegionRefused);
    EXPECT_EQ(got({both.value + 1}, 0), Errc::kRegionRefused);
    EXPECT_EQ(got(write_only, 0), Errc::kRegionRefused);
    EXPECT_EQ(got(both, beyond), Errc::kRegionRefused);
    EXPECT_EQ(buffer, Bytes(size));
    EXPECT_EQ(memory, before);
    EXPECT_EQ(got(read_only, kLarge - size), Errc::kOk);
    EXPECT_EQ(buffer, Bytes(size, std::byte{0x22}));
  }
  expect_healthy(pair);
}

TEST(core_regions, revoke__unknown_is_told) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes memory(100);
  const core::RegionKey region = region_of(pair, 1, memory);
  revoke(pair, 1, region);
  EXPECT_EQ(pair.endpoint(1).revoke_region(pair.now(), region).error(), Errc::kUnknownRegion);
}

// Revoked before the write or read is posted, at each instant while it is under way, and
// after its end. From the revocation on no byte of the region is touched, nor read.
class core_revoke : public testing::TestWithParam<std::int64_t> {};

TEST_P(core_revoke, write__touches_nothing_afterwards) {
  for (const std::size_t size : {kSmall, kLarge}) {
    for (const bool loss : {false, true}) {
      Pair pair(four_paths(static_cast<std::uint64_t>(GetParam() + 1)));
      ASSERT_TRUE(pair.connect());
      if (loss) pair.set_faults(0, lossy(100'000, 300'000));
      if (loss) pair.set_faults(1, lossy(100'000, 300'000));
      const Bytes data = content(size);
      Bytes memory(size);
      const core::RegionKey region = region_of(pair, 1, memory);
      core::WriteArgs args = write_args(data, region);
      args.notify = true;
      const auto write = pair.write(0, args);
      pair.run_for(microseconds(GetParam()));
      revoke(pair, 1, region);
      const bool complete = memory == data;
      const Bytes after(size, std::byte{0x77});
      memory = after;
      const core::Completion done = result_of(pair, 0, write);
      pair.run_for(milliseconds(100));
      EXPECT_EQ(memory, after);
      if (complete) {
        EXPECT_EQ(done.status, Errc::kOk);
      } else {
        EXPECT_EQ(done.status, Errc::kRegionRefused);
      }
      EXPECT_EQ(pair.count(1, EventKind::kNotification), complete ? 1U : 0U);
      EXPECT_EQ(completions_of(pair, 0, write), 1U);
      expect_healthy(pair);
    }
  }
}

TEST_P(core_revoke, read__sends_nothing_afterwards) {
  for (const std::size_t size : {kSmall, kLarge}) {
    for (const bool loss : {false, true}) {
      Pair pair(four_paths(static_cast<std::uint64_t>(GetParam() + 1)));
      ASSERT_TRUE(pair.connect());
      if (loss) pair.set_faults(0, lossy(100'000, 300'000));
      if (loss) pair.set_faults(1, lossy(100'000, 300'000));
      const Bytes data = content(size);
      Bytes memory = data;
      Bytes buffer(size);
      const core::RegionKey region = region_of(pair, 1, memory);
      const auto read = pair.read(0, read_args(buffer, region));
      pair.run_for(microseconds(GetParam()));
      revoke(pair, 1, region);
      // What is seen of this would have been read after the revocation.
      std::fill(memory.begin(), memory.end(), std::byte{0x77});
      const core::Completion done = result_of(pair, 0, read);
      EXPECT_TRUE(done.status == Errc::kOk || done.status == Errc::kRegionRefused);
      if (done.status == Errc::kOk) {
        EXPECT_EQ(buffer, data);
      }
      for (std::size_t i = 0; i < size; i += 128) {
        const std::size_t unit = std::min<std::size_t>(128, size - i);
        EXPECT_FALSE(std::all_of(buffer.begin() + static_cast<std::ptrdiff_t>(i),
                                 buffer.begin() + static_cast<std::ptrdiff_t>(i + unit),
                                 [](std::byte b) { return b == std::byte{0x77}; }));
      }
      pair.run_for(milliseconds(100));
      EXPECT_EQ(completions_of(pair, 0, read), 1U);
      expect_healthy(pair);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(after_us, core_revoke,
                         testing::Values(0, 5, 12, 20, 25, 30, 40, 60, 80, 100, 150, 200, 300, 400,
                                         600, 900, 1'500, 2'500, 4'000, 9'000),
                         [](const auto& one) { return std::to_string(one.param); });

// The answer's segments are on their way when the region goes, but the ACK of its
// announcement is not here: none of them may be sent again.
TEST(core_regions, revoke__read_answer_whose_announcement_is_unacknowledged) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Pair pair(four_paths(seed));
    ASSERT_TRUE(pair.connect());
    Bytes memory = content(kLarge);
    Bytes buffer(kLarge);
    const core::RegionKey region = region_of(pair, 1, memory);
    Tap tap(pair);
    tap.keeps = false;
    // Grants arrive, ACKs do not.
    tap.fate = [&](const Pair::Leaving& leaving) {
      if (leaving.side == 1) return 1U;
      return has_frame(leaving.transmit, wire::FrameKind::kGrant) ||
                     has_frame(leaving.transmit, wire::FrameKind::kRead)
                 ? 1U
                 : 0U;
    };
    pair.set_faults(1, lossy(200'000, 0));
    const auto read = pair.read(0, read_args(buffer, region));
    pair.run_for(microseconds(static_cast<std::int64_t>(30 * seed)));
    revoke(pair, 1, region);
    pair.run_for(milliseconds(5));
    tap.fate = {};
    pair.set_faults(1, {});
    const Errc status = result_of(pair, 0, read).status;
    EXPECT_TRUE(status == Errc::kRegionRefused || (status == Errc::kOk && buffer == memory));
    expect_healthy(pair);
  }
}

TEST(core_notifications, unordered__each_once_with_its_bytes_in_place) {
  Pair pair(four_paths());
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(100'000, 300'000));
  pair.set_faults(1, lossy(100'000, 300'000));
  constexpr std::uint32_t kWrites = 200;
  std::vector<Bytes> data;
  Bytes memory(kWrites * 20'000);
  const core::RegionKey region = region_of(pair, 1, memory);
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    data.push_back(content(i % 5 == 0 ? 20'000 : 100, i));
    core::WriteArgs args = write_args(data.back(), region, i * 20'000);
    args.notify = true;
    args.immediate = i;
    pair.write(0, args);
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.count(1, EventKind::kNotification) == kWrites; }));
  pair.run_for(seconds(1));
  EXPECT_EQ(pair.count(1, EventKind::kNotification), kWrites);
  std::vector<std::uint32_t> times(kWrites);
  for (const core::Event& event : pair.events(1)) {
    if (event.kind != EventKind::kNotification) continue;
    ASSERT_LT(event.immediate, kWrites);
    ++times[event.immediate];
    EXPECT_EQ(event.offset, event.immediate * 20'000U);
    EXPECT_EQ(event.bytes, data[event.immediate].size());
    EXPECT_EQ(event.peer, pair.peer(1));
    EXPECT_EQ(event.communicator, core::CommunicatorId{1});
    EXPECT_EQ(event.traffic_class, TrafficClass::kWeights);
  }
  EXPECT_EQ(times, std::vector<std::uint32_t>(kWrites, 1));
}

// Small and large writes in a row, some given up, some refused: the notifications of the
// others come in the order of posting.
class core_ordered : public testing::TestWithParam<std::uint64_t> {};

TEST_P(core_ordered, notifications__keep_the_order_of_posting) {
  constexpr std::uint32_t kWrites = 120;
  PairOptions options = four_paths(GetParam());
  if (GetParam() % 3 == 0) options.endpoints[1].events_max = 2;  // notifications wait for room
  if (GetParam() % 4 == 0) options.endpoints[1].segment_maps_max = 2;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(100'000, 300'000));
  pair.set_faults(1, lossy(100'000, 300'000));
  Prng prng(GetParam());
  const Bytes data = content(200'000);
  Bytes memory(data.size());
  const core::RegionKey region = region_of(pair, 1, memory);
  std::vector<core::Operation> writes;
  std::vector<bool> refused_of;
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    const std::size_t size = prng.below(3) == 0 ? prng.below(data.size()) : prng.below(300);
    const bool refused = prng.below(10) == 0;
    core::WriteArgs args = write_args(ByteSpan(data).first(size), region);
    if (refused) args.region = {region.value ^ 1};
    refused_of.push_back(refused);
    args.notify = true;
    args.ordered = true;
    args.immediate = i;
    writes.push_back(pair.write(0, args));
    if (prng.below(4) == 0) {
      pair.run_for(microseconds(static_cast<std::int64_t>(prng.below(200))));
    }
    if (prng.below(6) == 0) {
      static_cast<void>(pair.endpoint(0).cancel(pair.now(), writes[prng.below(i + 1)]));
      pair.touch(0);
    }
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(0).size() == kWrites; }, seconds(30)));
  pair.run_for(seconds(1));
  std::vector<std::uint32_t> notified;
  for (const core::Event& event : pair.events(1)) {
    if (event.kind == EventKind::kNotification) notified.push_back(event.immediate);
  }
  EXPECT_TRUE(std::is_sorted(notified.begin(), notified.end())) << testing::PrintToString(notified);
  EXPECT_EQ(std::adjacent_find(notified.begin(), notified.end()), notified.end());
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    const Errc status = status_of(pair, 0, writes[i]);
    const bool told = std::binary_search(notified.begin(), notified.end(), i);
    if (status == Errc::kOk) {
      EXPECT_FALSE(refused_of[i]) << i;
      EXPECT_TRUE(told) << i;
    } else if (status == Errc::kRegionRefused) {
      EXPECT_FALSE(told) << i;
    } else {
      EXPECT_EQ(status, Errc::kCancelled);  // it may have arrived all the same
    }
  }
  EXPECT_GT(notified.size(), kWrites / 2);
}

INSTANTIATE_TEST_SUITE_P(seeds, core_ordered, testing::Range<std::uint64_t>(1, 41),
                         [](const auto& one) { return std::to_string(one.param); });

// The one before is given up while it is half there: the next need not wait for it.
TEST(core_notifications, ordered__behind_a_cancelled_write) {
  for (const bool refused : {false, true}) {
    Pair pair;
    ASSERT_TRUE(pair.connect());
    const Bytes large = content(kLarge);
    const Bytes small = content(100);
    Bytes memory(kLarge);
    const core::RegionKey region = region_of(pair, 1, memory);
    core::WriteArgs first = write_args(large, region);
    if (refused) first.region = {region.value ^ 1};
    first.notify = true;
    first.ordered = true;
    first.immediate = 1;
    core::WriteArgs second = write_args(small, region);
    second.notify = true;
    second.ordered = true;
    second.immediate = 2;
    Tap tap(pair);
    if (refused) {
      // The refused one comes last.
      tap.fate = [](const Pair::Leaving& leaving) {
        return has_frame(leaving.transmit, wire::FrameKind::kWrite) && leaving.index < 20 ? 0U : 1U;
      };
    }
    const auto given_up = pair.write(0, first);
    if (refused) pair.run_for(microseconds(1));
    const auto behind = pair.write(0, second);
    pair.run_for(microseconds(500));
    if (!refused) {
      EXPECT_EQ(pair.count(1, EventKind::kNotification), 0U);
      EXPECT_TRUE(pair.endpoint(0).cancel(pair.now(), given_up).ok());
      pair.touch(0);
    }
    EXPECT_EQ(result_of(pair, 0, given_up).status,
              refused ? Errc::kRegionRefused : Errc::kCancelled);
    EXPECT_EQ(result_of(pair, 0, behind).status, Errc::kOk);
    ASSERT_TRUE(pair.run_until([&] { return pair.count(1, EventKind::kNotification) > 0; }))
        << refused;
    EXPECT_EQ(pair.events(1).back().immediate, 2U);
    pair.run_for(milliseconds(10));
    EXPECT_EQ(pair.count(1, EventKind::kNotification), 1U);
  }
}

// What lies in memory is told even if the peer is gone before its turn came.
TEST(core_notifications, ordered__when_the_peer_goes) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes large = content(kLarge);
  const Bytes small = content(100);
  Bytes memory(kLarge);
  const core::RegionKey region = region_of(pair, 1, memory);
  for (std::uint32_t i = 0; i < 3; ++i) {
    core::WriteArgs args = write_args(i == 0 ? large : small, region);
    args.notify = true;
    args.ordered = true;
    args.immediate = i;
    pair.write(0, args);
  }
  pair.run_for(microseconds(500));
  EXPECT_EQ(pair.completions(0).size(), 2U);  // acknowledged: they lie there
  EXPECT_TRUE(pair.endpoint(1).close_peer(pair.now(), pair.peer(1)).ok());
  pair.touch(1);
  pair.run_for(milliseconds(10));
  std::vector<std::uint32_t> notified;
  for (const core::Event& event : pair.events(1)) {
    if (event.kind == EventKind::kNotification) notified.push_back(event.immediate);
  }
  EXPECT_EQ(notified, (std::vector<std::uint32_t>{1, 2}));
}

}  // namespace
}  // namespace zhinu::sim::test

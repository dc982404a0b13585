// Pools so small that full is the common case: posts answer full or things wait, and in the
// end all is well.
#include <algorithm>
#include <array>
#include <string>

#include "core/handshake.h"
#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr core::CommunicatorId kOne{1};

LinkFaults lossy(std::uint32_t loss_ppm) {
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  faults.reorder_ppm = loss_ppm;
  faults.reorder_delay = microseconds(200);
  return faults;
}

using core::EndpointOptions;

// One option made as small as it may be, or all of them.
struct Tiny {
  const char* name;
  void (*apply)(EndpointOptions& options);
};

constexpr std::array kTiny{
    Tiny{"sends", [](EndpointOptions& options) { options.sends_max = 1; }},
    Tiny{"receives", [](EndpointOptions& options) { options.receives_max = 1; }},
    Tiny{"sent_packets",
         [](EndpointOptions& options) { options.sent_packets_max = core::kSentPacketsMin; }},
    Tiny{"channels", [](EndpointOptions& options) { options.channels_max = 1; }},
    Tiny{"held_blocks", [](EndpointOptions& options) { options.held_blocks_max = 0; }},
    Tiny{"segment_maps", [](EndpointOptions& options) { options.segment_maps_max = 1; }},
    Tiny{"refusals", [](EndpointOptions& options) { options.refusals_max = 0; }},
    Tiny{"events", [](EndpointOptions& options) { options.events_max = 1; }},
    Tiny{"eager_bytes", [](EndpointOptions& options) { options.eager_bytes_max = 0; }},
    Tiny{"eager_budget", [](EndpointOptions& options) { options.eager_budget_bytes = 0; }},
    Tiny{"reserve", [](EndpointOptions& options) { options.communicator_reserve_bytes = 0; }},
    Tiny{"announced", [](EndpointOptions& options) { options.announced_max = 1; }},
    Tiny{"grant_window", [](EndpointOptions& options) { options.grant_window_bytes = 0; }},
    Tiny{"unscheduled", [](EndpointOptions& options) { options.unscheduled_bytes = 0; }},
    Tiny{"message_span", [](EndpointOptions& options) { options.message_span_bytes = 0; }},
    Tiny{"train", [](EndpointOptions& options) { options.train_bytes = 1; }},
    Tiny{"ack_bytes", [](EndpointOptions& options) { options.ack_bytes_max = 0; }},
    Tiny{"window",
         [](EndpointOptions& options) {
           options.window.initial_bytes = 1;
           options.window.min_bytes = 1;
           options.window.max_bytes = 1;
         }},
    Tiny{"packets",
         [](EndpointOptions& options) { options.packet_bytes_max = core::kPacketBytesMin; }},
    Tiny{"class_weights",
         [](EndpointOptions& options) {
           options.class_weights = {0, 1, 1, 1, 1};
         }},
};
constexpr std::size_t kAll = kTiny.size();

std::string name_of(std::size_t option) { return option == kAll ? "all" : kTiny[option].name; }

void make_tiny(std::size_t option, EndpointOptions& options) {
  for (std::size_t i = 0; i < kTiny.size(); ++i) {
    if (option == kAll || option == i) kTiny[i].apply(options);
  }
}

constexpr std::size_t kMessages = 40;
constexpr std::size_t kOneSided = 10;
constexpr std::size_t kOneSidedBytesMax = 20'000;

// Messages, writes with notification and reads in both directions. Posts when it may, and
// again when it was told that something is full.
class Load {
 public:
  Load(Pair& pair, std::uint64_t seed) : pair_(pair) {
    Prng prng(seed);
    for (std::uint32_t side = 0; side < 2; ++side) {
      Side& own = sides_[side];
      for (std::size_t i = 0; i < kMessages; ++i) {
        const std::size_t size = i % 4 == 0 ? prng.below(60'000) : prng.below(3'000) * (i % 4 - 1);
        own.data.push_back(content(size, side * kMessages + i));
        sides_[1 - side].buffers.emplace_back(size);
      }
      own.written = Bytes(kOneSided * kOneSidedBytesMax);
      own.readable = content(kOneSided * kOneSidedBytesMax, 77 + side);
      own.read = Bytes(own.readable.size());
      own.write_key = pair.endpoint(side).register_region(own.written, {false, true}).value();
      own.read_key = pair.endpoint(side).register_region(own.readable, {true, false}).value();
    }
  }

  // True when all has ended within the limit.
  bool run(Duration limit) {
    return pair_.run_until(
        [this] {
          for (std::uint32_t side = 0; side < 2; ++side) post(side);
          return ended(0) && ended(1);
        },
        limit);
  }
  void expect_content() const {
    for (std::uint32_t side = 0; side < 2; ++side) {
      const Side& own = sides_[side];
      const Side& other = sides_[1 - side];
      for (std::size_t i = 0; i < kMessages; ++i) EXPECT_TRUE(own.buffers[i] == other.data[i]) << i;
      EXPECT_TRUE(own.written == other.readable);
      EXPECT_TRUE(own.read == other.readable);
      EXPECT_EQ(pair_.count(side, EventKind::kNotification), kOneSided);
      EXPECT_EQ(pair_.count(side, EventKind::kPeerDown), 0U);
    }
  }
  std::uint64_t full() const { return full_; }

 private:
  struct Side {
    std::vector<Bytes> data;
    std::vector<Bytes> buffers;
    Bytes written;   // by the other side, with what it has for reading
    Bytes readable;  // by the other side
    Bytes read;      // from the other side
    core::RegionKey write_key;
    core::RegionKey read_key;
    std::size_t sends = 0;
    std::size_t receives = 0;
    std::size_t writes = 0;
    std::size_t reads = 0;
    std::size_t polled = 0;
  };

  void post(std::uint32_t side) {
    Side& own = sides_[side];
    while (own.sends < kMessages && post_send(side)) ++own.sends;
    while (own.receives < kMessages && post_receive(side)) ++own.receives;
    while (own.writes < kOneSided && post_write(side)) ++own.writes;
    while (own.reads < kOneSided && post_read(side)) ++own.reads;
  }
  bool ended(std::uint32_t side) {
    Side& own = sides_[side];
    for (; own.polled < pair_.completions(side).size(); ++own.polled) {
      EXPECT_EQ(pair_.completions(side)[own.polled].status, Errc::kOk);
    }
    return own.polled == 2 * (kMessages + kOneSided);
  }
  bool post_send(std::uint32_t side) {
    core::SendArgs args = send_args(sides_[side].data[sides_[side].sends], 3);
    args.peer = pair_.peer(side);
    args.communicator = kOne;
    return taken(side, pair_.endpoint(side).send(pair_.now(), args));
  }
  bool post_receive(std::uint32_t side) {
    Side& own = sides_[side];
    core::ReceiveArgs args = receive_args(pair_, side, own.buffers[own.receives], 3);
    args.communicator = kOne;
    return taken(side, pair_.endpoint(side).receive(pair_.now(), args));
  }
  bool post_write(std::uint32_t side) {
    Side& own = sides_[side];
    core::WriteArgs args;
    args.peer = pair_.peer(side);
    args.communicator = kOne;
    args.region = sides_[1 - side].write_key;
    args.offset = own.writes * kOneSidedBytesMax;
    args.data = ByteSpan(own.readable).subspan(args.offset, kOneSidedBytesMax);
    args.notify = true;
    args.ordered = own.writes % 2 == 0;
    return taken(side, pair_.endpoint(side).write(pair_.now(), args));
  }
  bool post_read(std::uint32_t side) {
    Side& own = sides_[side];
    core::ReadArgs args;
    args.peer = pair_.peer(side);
    args.communicator = kOne;
    args.region = sides_[1 - side].read_key;
    args.offset = own.reads * kOneSidedBytesMax;
    args.buffer = MutableByteSpan(own.read).subspan(args.offset, kOneSidedBytesMax);
    return taken(side, pair_.endpoint(side).read(pair_.now(), args));
  }
  bool taken(std::uint32_t side, const Result<core::Operation>& posted) {
    if (posted.ok()) pair_.touch(side);
    if (posted.ok()) return true;
    EXPECT_EQ(posted.error(), Errc::kFull);
    ++full_;
    return false;
  }

  Pair& pair_;
  std::array<Side, 2> sides_;
  std::uint64_t full_ = 0;
};

struct TinyCase {
  std::size_t option = 0;
  std::uint32_t sides = 3;  // bit per side that is tiny
  std::uint32_t loss_ppm = 0;
};

class core_tiny : public testing::TestWithParam<TinyCase> {};

TEST_P(core_tiny, mixed_load__ends_well) {
  const TinyCase& param = GetParam();
  PairOptions options;
  options.paths = 2;
  options.seed = param.option + 1;
  for (std::uint32_t side = 0; side < 2; ++side) {
    if ((param.sides >> side & 1) != 0) make_tiny(param.option, options.endpoints[side]);
  }
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(param.loss_ppm));
  pair.set_faults(1, lossy(param.loss_ppm));
  Load load(pair, options.seed);
  EXPECT_TRUE(load.run(seconds(120)));
  load.expect_content();
  pair.run_for(seconds(1));
  // Nothing is left over: a message each way goes as on the first day.
  expect_exchange(pair, content(50'000), 0, 4);
  expect_exchange(pair, content(50'000), 1, 4);
}

std::vector<TinyCase> tiny_cases() {
  std::vector<TinyCase> cases;
  for (std::size_t option = 0; option <= kAll; ++option) {
    for (const std::uint32_t sides : {1U, 2U, 3U}) {
      for (const std::uint32_t loss : {0U, 100'000U}) cases.push_back({option, sides, loss});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(options, core_tiny, testing::ValuesIn(tiny_cases()), [](const auto& one) {
  return name_of(one.param.option) + "_sides" + std::to_string(one.param.sides) +
         (one.param.loss_ppm > 0 ? "_loss" : "");
});

// Pools that answer as full at random, on both sides.
TEST(core_full_at_random, mixed_load__ends_well) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    PairOptions options;
    options.paths = 2;
    options.seed = seed;
    options.misbehaviour.short_send_ppm = 200'000;
    options.misbehaviour.full_pool_ppm = 300'000;
    Pair pair(options);
    ASSERT_TRUE(pair.connect(seconds(60)));
    pair.set_faults(0, lossy(50'000));
    pair.set_faults(1, lossy(50'000));
    Load load(pair, seed);
    EXPECT_TRUE(load.run(seconds(120))) << seed;
    load.expect_content();
    EXPECT_GT(load.full(), 0U);
  }
}

}  // namespace
}  // namespace zhinu::sim::test

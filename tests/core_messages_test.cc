// Messages of every size that has a border in it, matching, and order.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr std::uint32_t kEager = 8'192;  // eager limit of the defaults
constexpr std::size_t kPacketPayload = 8'972 - wire::kFramesOffset - wire::kMessageFrameBytes;

PairOptions four_paths(std::uint64_t seed = 1) {
  PairOptions options;
  options.paths = 4;
  options.seed = seed;
  return options;
}

LinkFaults lossy(std::uint32_t loss_ppm, std::uint32_t reorder_ppm = 0) {
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  faults.reorder_ppm = reorder_ppm;
  faults.reorder_delay = microseconds(200);
  return faults;
}

class core_sizes : public testing::TestWithParam<std::size_t> {};

TEST_P(core_sizes, send_receive__arrives_whole) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(GetParam()));
  EXPECT_EQ(count_of(pair, 0, Counter::kPacketsLost), pair.cluster().fabric().total().queue_full);
  EXPECT_EQ(count_of(pair, 0, Counter::kMessagesSent), 1U);
  EXPECT_EQ(count_of(pair, 1, Counter::kMessagesReceived), 1U);
}

TEST_P(core_sizes, send_before_receive__arrives_whole) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(GetParam());
  Bytes buffer(data.size());
  const auto send = pair.send(0, send_args(data));
  pair.run_for(milliseconds(1));
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer));
  EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_EQ(buffer, data);
}

TEST_P(core_sizes, send_receive__arrives_whole_under_loss) {
  Pair pair(four_paths(GetParam()));
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(100'000, 100'000));
  pair.set_faults(1, lossy(100'000, 100'000));
  expect_exchange(pair, content(GetParam()));
}

TEST_P(core_sizes, write_and_read__arrive_whole) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(GetParam());
  Bytes memory(data.size() + 64);
  Bytes back(data.size());
  const auto region = pair.endpoint(1).register_region(memory, {true, true});
  ASSERT_TRUE(region.ok());
  core::WriteArgs write;
  write.data = data;
  write.region = region.value();
  write.offset = 32;
  EXPECT_EQ(result_of(pair, 0, pair.write(0, write)).status, Errc::kOk);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin() + 32));
  core::ReadArgs read;
  read.buffer = back;
  read.region = region.value();
  read.offset = 32;
  const core::Completion done = result_of(pair, 0, pair.read(0, read));
  EXPECT_EQ(done.status, Errc::kOk);
  EXPECT_EQ(done.bytes, data.size());
  EXPECT_EQ(back, data);
}

INSTANTIATE_TEST_SUITE_P(borders, core_sizes,
                         testing::Values(0, 1, 127, 128, 129, kEager - 1, kEager, kEager + 1,
                                         kPacketPayload - 1, kPacketPayload, kPacketPayload + 1,
                                         65'535, 65'536, 65'537, 8 * 1024 * 1024),
                         [](const auto& one) { return std::to_string(one.param); });

// With the eager limit above what a packet holds, the packet is the border.
class core_packet_limit : public testing::TestWithParam<std::size_t> {};

TEST_P(core_packet_limit, eager_limit_above_packet__arrives_whole) {
  PairOptions options;
  for (auto& endpoint : options.endpoints) endpoint.eager_bytes_max = 32'768;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  expect_exchange(pair, content(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(borders, core_packet_limit,
                         testing::Values(kPacketPayload - 1, kPacketPayload, kPacketPayload + 1,
                                         32'767, 32'768, 32'769),
                         [](const auto& one) { return std::to_string(one.param); });

TEST(core_messages, smallest_packets_carry_everything) {
  PairOptions options;
  options.packet_bytes_max = 1'280;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  for (const std::size_t size : {0U, 1U, 1'232U, 1'233U, 8'192U, 100'000U}) {
    expect_exchange(pair, content(size));
  }
}

TEST(core_messages, zero_length__write_with_notification) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes memory(16);
  const auto region = pair.endpoint(1).register_region(memory, {false, true});
  ASSERT_TRUE(region.ok());
  core::WriteArgs write;
  write.region = region.value();
  write.offset = 16;  // the end of the region: nothing lies there, and nothing is asked for
  write.notify = true;
  write.immediate = 77;
  EXPECT_EQ(result_of(pair, 0, pair.write(0, write)).status, Errc::kOk);
  pair.run_for(milliseconds(1));
  ASSERT_EQ(pair.count(1, EventKind::kNotification), 1U);
  const core::Event& event = pair.events(1).back();
  EXPECT_EQ(event.immediate, 77U);
  EXPECT_EQ(event.bytes, 0U);
  EXPECT_EQ(event.region, region.value());
}

// A message with a digest and one without never meet, whatever their size.
TEST(core_messages, zero_length__with_digest) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  core::SendArgs send = send_args({}, 3);
  send.digest = 0xabc;
  core::ReceiveArgs receive = receive_args(pair, 1, {}, 3);
  receive.digest = 0xabc;
  const auto received = pair.receive(1, receive);
  const auto sent = pair.send(0, send);
  EXPECT_EQ(result_of(pair, 1, received).status, Errc::kOk);
  EXPECT_EQ(result_of(pair, 0, sent).status, Errc::kOk);
}

// The sender of an eager message has its result before the sizes meet; that of a
// granted one learns of it.
TEST(core_messages, receive_smaller_than_send__eager) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(100);
  Bytes buffer(99, std::byte{0x11});
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer));
  const auto send = pair.send(0, send_args(data));
  const core::Completion received = result_of(pair, 1, receive);
  EXPECT_EQ(received.status, Errc::kTruncated);
  EXPECT_EQ(received.bytes, 100U);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  EXPECT_EQ(buffer, Bytes(99, std::byte{0x11}));
  expect_exchange(pair, data);
}

TEST(core_messages, receive_smaller_than_send__held) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  const Bytes data = content(5'000);
  Bytes buffer(0);
  const auto send = pair.send(0, send_args(data));
  pair.run_for(milliseconds(1));
  const auto receive = pair.receive(1, receive_args(pair, 1, buffer));
  const core::Completion received = result_of(pair, 1, receive);
  EXPECT_EQ(received.status, Errc::kTruncated);
  EXPECT_EQ(received.bytes, 5'000U);
  EXPECT_EQ(result_of(pair, 0, send).status, Errc::kOk);
  expect_exchange(pair, data);
}

TEST(core_messages, receive_smaller_than_send__granted) {
  for (const bool posted_first : {false, true}) {
    Pair pair;
    ASSERT_TRUE(pair.connect());
    const Bytes data = content(1'000'000);
    Bytes buffer(999'999, std::byte{0x11});
    const Bytes before = buffer;
    core::Operation receive;
    if (posted_first) receive = pair.receive(1, receive_args(pair, 1, buffer));
    const auto send = pair.send(0, send_args(data));
    pair.run_for(milliseconds(1));
    if (!posted_first) receive = pair.receive(1, receive_args(pair, 1, buffer));
    const core::Completion received = result_of(pair, 1, receive);
    EXPECT_EQ(received.status, Errc::kTruncated);
    EXPECT_EQ(received.bytes, 1'000'000U);
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kTruncated);
    EXPECT_EQ(buffer, before);
    expect_exchange(pair, data);
  }
}

// Two messages of one tag match the receives in the order of posting (case A14).
TEST(core_messages, same_tag__matches_in_order_of_posting) {
  for (const std::size_t size : {100U, 80'000U}) {
    Pair pair(four_paths());
    ASSERT_TRUE(pair.connect());
    pair.set_faults(0, lossy(50'000, 500'000));
    const Bytes first = content(size, 1);
    const Bytes second = content(size, 2);
    Bytes into_first(size);
    Bytes into_second(size);
    const auto send_first = pair.send(0, send_args(first, 9));
    const auto send_second = pair.send(0, send_args(second, 9));
    pair.run_for(milliseconds(2));
    // The later buffer is posted first, so it gets the first message.
    const auto receive_second = pair.receive(1, receive_args(pair, 1, into_second, 9));
    const auto receive_first = pair.receive(1, receive_args(pair, 1, into_first, 9));
    EXPECT_EQ(result_of(pair, 1, receive_second).status, Errc::kOk);
    EXPECT_EQ(result_of(pair, 1, receive_first).status, Errc::kOk);
    EXPECT_EQ(result_of(pair, 0, send_first).status, Errc::kOk);
    EXPECT_EQ(result_of(pair, 0, send_second).status, Errc::kOk);
    EXPECT_EQ(into_second, first);
    EXPECT_EQ(into_first, second);
  }
}

TEST(core_messages, any_source__takes_from_two_peers) {
  ClusterOptions options;
  options.fabric.nodes = 3;
  options.seal = core::SealMode::kCrc32c;
  Mesh mesh(options);
  ASSERT_TRUE(mesh.connect_all());
  for (const std::size_t size : {64U, 50'000U}) {
    const Bytes from_1 = content(size, 1);
    const Bytes from_2 = content(size, 2);
    std::array<Bytes, 2> buffers{Bytes(size), Bytes(size)};
    std::array<core::Operation, 2> receives;
    for (std::size_t i = 0; i < 2; ++i) {
      core::ReceiveArgs args;
      args.buffer = buffers[i];
      receives[i] = mesh.receive(0, Cluster::kNoNode, args);
    }
    const std::size_t done = mesh.completions(0).size();
    mesh.send(1, 0, send_args(from_1));
    mesh.send(2, 0, send_args(from_2));
    ASSERT_TRUE(mesh.run_until([&] { return mesh.completions(0).size() == done + 2; }));
    bool seen_1 = false;
    bool seen_2 = false;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto completion = mesh.completion(0, receives[i]);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->status, Errc::kOk);
      const std::uint32_t source = mesh.cluster().node_of(0, completion->peer);
      EXPECT_EQ(buffers[i], source == 1 ? from_1 : from_2);
      (source == 1 ? seen_1 : seen_2) = true;
    }
    EXPECT_TRUE(seen_1 && seen_2);
  }
}

// A receive for one source lets the messages of others pass by.
TEST(core_messages, one_source__leaves_others_to_any_source) {
  ClusterOptions options;
  options.fabric.nodes = 3;
  Mesh mesh(options);
  ASSERT_TRUE(mesh.connect_all());
  const Bytes from_1 = content(64, 1);
  const Bytes from_2 = content(64, 2);
  mesh.send(1, 0, send_args(from_1));
  mesh.run_for(milliseconds(1));
  Bytes only_2(64);
  Bytes any(64);
  core::ReceiveArgs args;
  args.buffer = only_2;
  const auto receive_2 = mesh.receive(0, 2, args);
  args.buffer = any;
  const auto receive_any = mesh.receive(0, Cluster::kNoNode, args);
  ASSERT_TRUE(mesh.run_until([&] { return mesh.completion(0, receive_any).has_value(); }));
  EXPECT_FALSE(mesh.completion(0, receive_2).has_value());
  mesh.send(2, 0, send_args(from_2));
  ASSERT_TRUE(mesh.run_until([&] { return mesh.completion(0, receive_2).has_value(); }));
  EXPECT_EQ(any, from_1);
  EXPECT_EQ(only_2, from_2);
}

TEST(core_messages, many_tags__each_finds_its_receive) {
  constexpr std::uint32_t kTags = 500;
  Pair pair(four_paths());
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(20'000, 200'000));
  std::vector<Bytes> data;
  std::vector<Bytes> buffers;
  std::vector<core::Operation> receives;
  for (std::uint32_t tag = 0; tag < kTags; ++tag) {
    data.push_back(content(tag % 7 == 0 ? 9'000 : tag, tag));
    buffers.emplace_back(data.back().size());
  }
  // Received from the last tag to the first, half of them after the messages came.
  for (std::uint32_t tag = kTags; tag-- > kTags / 2;) {
    receives.push_back(pair.receive(1, receive_args(pair, 1, buffers[tag], tag)));
  }
  for (std::uint32_t tag = 0; tag < kTags; ++tag) pair.send(0, send_args(data[tag], tag));
  pair.run_for(milliseconds(5));
  for (std::uint32_t tag = kTags / 2; tag-- > 0;) {
    receives.push_back(pair.receive(1, receive_args(pair, 1, buffers[tag], tag)));
  }
  for (const core::Operation receive : receives) {
    EXPECT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  }
  EXPECT_EQ(buffers, data);
}

// Small and large messages of one tag, several loss rates and seeds: what is matched
// first was sent first.
class core_order : public testing::TestWithParam<std::uint64_t> {};

TEST_P(core_order, same_tag__is_kept_under_loss_and_reordering) {
  constexpr std::size_t kMessages = 400;
  Pair pair(four_paths(GetParam()));
  ASSERT_TRUE(pair.connect());
  pair.set_faults(0, lossy(100'000, 300'000));
  pair.set_faults(1, lossy(100'000, 300'000));
  Prng prng(GetParam());
  std::vector<Bytes> data;
  std::vector<Bytes> buffers;
  std::vector<core::Operation> receives;
  std::size_t posted = 0;
  const auto post = [&] {
    receives.push_back(pair.receive(1, receive_args(pair, 1, buffers[posted], 5)));
    ++posted;
  };
  for (std::size_t i = 0; i < kMessages; ++i) {
    const std::size_t size = prng.below(10) == 0 ? prng.below(60'000) : prng.below(600);
    data.push_back(content(size, i));
    buffers.emplace_back(size);
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    pair.send(0, send_args(data[i], 5));
    if (prng.below(3) == 0) post();
    if (prng.below(5) == 0) pair.run_for(microseconds(50));
  }
  while (posted < kMessages) post();
  for (const core::Operation receive : receives) {
    ASSERT_EQ(result_of(pair, 1, receive).status, Errc::kOk);
  }
  EXPECT_EQ(buffers, data);
  ASSERT_TRUE(pair.run_until([&] { return pair.completions(0).size() == kMessages; }));
  for (const core::Completion& done : pair.completions(0)) EXPECT_EQ(done.status, Errc::kOk);
  EXPECT_GT(count_of(pair, 0, Counter::kPacketsLost), 0U);
}

INSTANTIATE_TEST_SUITE_P(seeds, core_order, testing::Range<std::uint64_t>(1, 13),
                         [](const auto& one) { return std::to_string(one.param); });

// Lengths beyond 32 bits stay whole from the announcement to the result. The buffer
// is one byte too small, so nothing of the message moves.
TEST(core_messages, length_beyond_32_bits__is_not_cut) {
  for (const std::uint64_t length :
       {(1ULL << 31) - 1, 1ULL << 31, (1ULL << 31) + 1, 1ULL << 32, (1ULL << 32) + 1, ~0ULL >> 1}) {
    Pair pair;
    ASSERT_TRUE(pair.connect());
    Tap tap(pair);
    expect_exchange(pair, content(16));  // shows the tap a header
    Bytes small(1'000);
    const auto receive = pair.receive(1, receive_args(pair, 1, small));
    // Never read: the message is refused by its length.
    const std::byte one{};
    const auto send = pair.send(0, send_args(ByteSpan(&one, length)));
    const core::Completion received = result_of(pair, 1, receive);
    EXPECT_EQ(received.status, Errc::kTruncated);
    EXPECT_EQ(received.bytes, length);
    EXPECT_EQ(result_of(pair, 0, send).status, Errc::kTruncated);
    expect_exchange(pair, content(16));
  }
}

TEST(core_messages, offset_beyond_32_bits__write_is_refused_by_range) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes memory(4'096);
  const auto region = pair.endpoint(1).register_region(memory, {true, true});
  ASSERT_TRUE(region.ok());
  const Bytes data = content(64);
  // Low 32 bits alone would fall inside the region.
  for (const std::uint64_t offset : {1ULL << 32, (1ULL << 32) + 64, ~0ULL - 64}) {
    core::WriteArgs write;
    write.data = data;
    write.region = region.value();
    write.offset = offset;
    EXPECT_EQ(result_of(pair, 0, pair.write(0, write)).status, Errc::kRegionRefused) << offset;
  }
  EXPECT_EQ(memory, Bytes(4'096));
}

// A range that no region can have is refused where it is posted.
TEST(core_messages, range_beyond_64_bits__is_refused_by_the_post) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes data(64);
  core::WriteArgs write;
  write.peer = pair.peer(0);
  write.communicator = core::CommunicatorId{1};
  write.data = data;
  core::ReadArgs read;
  read.peer = write.peer;
  read.communicator = write.communicator;
  read.buffer = data;
  for (const std::uint64_t offset : {~0ULL - 63, ~0ULL}) {
    write.offset = offset;
    read.offset = offset;
    EXPECT_EQ(pair.endpoint(0).write(pair.now(), write).error(), Errc::kInvalidArgument);
    EXPECT_EQ(pair.endpoint(0).read(pair.now(), read).error(), Errc::kInvalidArgument);
  }
}

}  // namespace
}  // namespace zhinu::sim::test

// Ranks that disagree, and aborts: everybody learns of it, with both sides named.
#include <algorithm>

#include "tests/core_tools_test.h"

namespace zhinu::sim::test {
namespace {

constexpr core::CommunicatorId kOne{1};
constexpr std::uint32_t kNodes = 4;

ClusterOptions four_nodes(std::uint64_t seed = 1) {
  ClusterOptions options;
  options.fabric.nodes = kNodes;
  options.fabric.spines = 2;
  options.fabric.seed = seed;
  options.paths_per_pair = 2;
  options.seal = core::SealMode::kCrc32c;
  options.seed = seed;
  return options;
}

void set_loss(Mesh& mesh, std::uint32_t loss_ppm) {
  LinkFaults faults;
  faults.loss_ppm = loss_ppm;
  Fabric& fabric = mesh.cluster().fabric();
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    fabric.set_faults(mesh.cluster().now(), fabric.host_up(node, 0), faults);
  }
}

core::SendArgs send_with(ByteSpan data, std::uint32_t digest, std::uint32_t tag = 7) {
  core::SendArgs args = send_args(data, tag);
  args.digest = digest;
  return args;
}

core::ReceiveArgs receive_with(MutableByteSpan buffer, std::uint32_t digest,
                               std::uint32_t tag = 7) {
  core::ReceiveArgs args;
  args.buffer = buffer;
  args.digest = digest;
  args.tag = tag;
  return args;
}

// One abort event per rank, all with the same content.
void expect_abort_everywhere(Mesh& mesh, Errc code, std::uint32_t reporter, std::uint32_t other,
                             std::uint32_t reporter_digest, std::uint32_t other_digest) {
  ASSERT_TRUE(mesh.run_until([&] {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (mesh.count(node, EventKind::kAborted) == 0) return false;
    }
    return true;
  }));
  mesh.run_for(seconds(1));
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_EQ(mesh.count(node, EventKind::kAborted), 1U);
    for (const core::Event& event : mesh.events(node)) {
      if (event.kind != EventKind::kAborted) continue;
      EXPECT_EQ(event.communicator, kOne);
      EXPECT_EQ(event.code, code);
      EXPECT_EQ(event.reporter_rank, reporter);
      EXPECT_EQ(event.other_rank, other);
      EXPECT_EQ(event.reporter_digest, reporter_digest);
      EXPECT_EQ(event.other_digest, other_digest);
    }
  }
}

struct MismatchCase {
  std::size_t bytes = 0;
  bool receive_first = false;
  std::uint32_t loss_ppm = 0;
  std::uint64_t seed = 1;
};

class core_mismatch : public testing::TestWithParam<MismatchCase> {};

// Case A02: the same verdict at every size, whoever comes first.
TEST_P(core_mismatch, digests_differ__all_ranks_learn_both) {
  const MismatchCase& param = GetParam();
  Mesh mesh(four_nodes(param.seed));
  ASSERT_TRUE(mesh.connect_all());
  set_loss(mesh, param.loss_ppm);
  const Bytes data = content(param.bytes);
  Bytes buffer(param.bytes, std::byte{0x55});
  const Bytes before = buffer;
  // Something else under way on all ranks ends too.
  Bytes never(100);
  std::vector<core::Operation> waiting;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    waiting.push_back(mesh.receive(node, (node + 1) % kNodes, receive_with(never, 0, 99)));
  }
  core::Operation receive;
  if (param.receive_first) receive = mesh.receive(2, 1, receive_with(buffer, 0xaaaaaa));
  const auto send = mesh.send(1, 2, send_with(data, 0xbbbbbb));
  mesh.run_for(milliseconds(2));
  if (!param.receive_first) receive = mesh.receive(2, 1, receive_with(buffer, 0xaaaaaa));
  expect_abort_everywhere(mesh, Errc::kDigestMismatch, 2, 1, 0xaaaaaa, 0xbbbbbb);
  const auto received = mesh.completion(2, receive);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, Errc::kDigestMismatch);
  EXPECT_EQ(received->own_digest, 0xaaaaaaU);
  EXPECT_EQ(received->peer_digest, 0xbbbbbbU);
  EXPECT_EQ(buffer, before);
  const auto sent = mesh.completion(1, send);
  ASSERT_TRUE(sent.has_value());
  if (param.bytes > 8'192) {
    EXPECT_TRUE(sent->status == Errc::kDigestMismatch || sent->status == Errc::kAborted);
  } else {
    EXPECT_TRUE(sent->status == Errc::kOk || sent->status == Errc::kAborted);
  }
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    const auto done = mesh.completion(node, waiting[node]);
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->status, Errc::kAborted);
    // And nothing can be posted any more.
    core::SendArgs args = send_with({}, 0);
    args.peer = mesh.cluster().peer(node, (node + 1) % kNodes);
    args.communicator = kOne;
    EXPECT_EQ(mesh.endpoint(node).send(mesh.cluster().now(), args).error(), Errc::kAborted);
  }
}

std::vector<MismatchCase> mismatch_cases() {
  std::vector<MismatchCase> cases;
  std::uint64_t seed = 1;
  for (const std::size_t bytes : {0U, 100U, 8'192U, 8'193U, 500'000U}) {
    for (const bool first : {false, true}) {
      for (const std::uint32_t loss : {0U, 200'000U}) cases.push_back({bytes, first, loss, seed++});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(sizes, core_mismatch, testing::ValuesIn(mismatch_cases()),
                         [](const auto& one) {
                           return std::to_string(one.param.bytes) +
                                  (one.param.receive_first ? "_posted" : "_late") +
                                  (one.param.loss_ppm > 0 ? "_loss" : "");
                         });

// A communicator that was aborted is destroyed and made again: it works as a new one.
TEST(core_abort, destroyed_and_created__works_again) {
  Mesh mesh(four_nodes());
  ASSERT_TRUE(mesh.connect_all());
  EXPECT_TRUE(mesh.endpoint(3).abort(mesh.cluster().now(), kOne, Errc::kCancelled).ok());
  mesh.cluster().touch(3);
  expect_abort_everywhere(mesh, Errc::kCancelled, 3, 3, 0, 0);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_TRUE(mesh.endpoint(node).destroy_communicator(mesh.cluster().now(), kOne).ok());
    mesh.cluster().touch(node);
  }
  mesh.run_for(milliseconds(10));
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_TRUE(mesh.endpoint(node).create_communicator(kOne).ok());
  }
  const Bytes data = content(100'000);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    Bytes buffer(data.size());
    const auto receive = mesh.receive((node + 1) % kNodes, node, receive_with(buffer, 5));
    mesh.send(node, (node + 1) % kNodes, send_with(data, 5));
    ASSERT_TRUE(
        mesh.run_until([&] { return mesh.completion((node + 1) % kNodes, receive).has_value(); }));
    EXPECT_EQ(buffer, data);
  }
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_EQ(mesh.count(node, EventKind::kAborted), 1U);
  }
}

TEST(core_abort, twice__is_told_once) {
  Mesh mesh(four_nodes());
  ASSERT_TRUE(mesh.connect_all());
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_TRUE(mesh.endpoint(node).abort(mesh.cluster().now(), kOne, Errc::kOk).ok());
    EXPECT_TRUE(mesh.endpoint(node).abort(mesh.cluster().now(), kOne, Errc::kOk).ok());
    mesh.cluster().touch(node);
  }
  mesh.run_for(seconds(1));
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    EXPECT_EQ(mesh.count(node, EventKind::kAborted), 1U);
  }
  EXPECT_EQ(
      mesh.endpoint(0).abort(mesh.cluster().now(), core::CommunicatorId{9}, Errc::kOk).error(),
      Errc::kUnknownCommunicator);
}

// Two ranks of four cannot reach each other: the abort comes over the others.
TEST(core_abort, blocked_pair__hears_over_others) {
  Mesh mesh(four_nodes());
  ASSERT_TRUE(mesh.connect_all());
  mesh.cluster().fabric().block(0, 1);
  mesh.cluster().fabric().block(1, 0);
  const Instant begin = mesh.cluster().now();
  EXPECT_TRUE(mesh.endpoint(0).abort(begin, kOne, Errc::kOk).ok());
  mesh.cluster().touch(0);
  ASSERT_TRUE(mesh.run_until([&] { return mesh.count(1, EventKind::kAborted) == 1; }));
  EXPECT_LT(mesh.cluster().now() - begin, milliseconds(1));
}

// What was under way between all ranks ends at once, each item once, whatever it was doing.
TEST(core_abort, storm__every_item_ends_once) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Mesh mesh(four_nodes(seed));
    ASSERT_TRUE(mesh.connect_all());
    set_loss(mesh, 100'000);
    Prng prng(seed);
    const Bytes data = content(300'000);
    std::vector<Bytes> buffers(400, Bytes(data.size()));
    std::vector<std::vector<core::Operation>> posted(kNodes);
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < 100; ++i) {
      for (std::uint32_t node = 0; node < kNodes; ++node) {
        const auto to = static_cast<std::uint32_t>(prng.below(kNodes));
        if (to == node) continue;
        const std::size_t size = prng.below(2) == 0 ? prng.below(3'000) : prng.below(data.size());
        posted[node].push_back(mesh.send(node, to, send_with(ByteSpan(data).first(size), 0)));
        if (prng.below(3) > 0) {
          posted[to].push_back(mesh.receive(to, node, receive_with(buffers[used++], 0)));
        }
      }
      mesh.run_for(microseconds(static_cast<std::int64_t>(prng.below(30))));
    }
    const auto reporter = static_cast<std::uint32_t>(prng.below(kNodes));
    EXPECT_TRUE(mesh.endpoint(reporter).abort(mesh.cluster().now(), kOne, Errc::kOk).ok());
    mesh.cluster().touch(reporter);
    mesh.run_for(seconds(2));
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      EXPECT_EQ(mesh.count(node, EventKind::kAborted), 1U);
      EXPECT_EQ(mesh.completions(node).size(), posted[node].size());
      for (const core::Operation operation : posted[node]) {
        EXPECT_TRUE(mesh.completion(node, operation).has_value());
      }
    }
  }
}

// More communicators in trouble than one datagram can name otherwise: each is aborted.
TEST(core_abort, many_communicators_disagree_in_one_packet) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  constexpr std::uint16_t kLast = 111;
  const Bytes data = content(4);
  std::vector<Bytes> buffers(kLast + 1U, Bytes(4));
  for (std::uint16_t id = 2; id <= kLast; ++id) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      ASSERT_TRUE(pair.endpoint(side).create_communicator(core::CommunicatorId{id}).ok());
    }
    core::ReceiveArgs receive = receive_with(buffers[id], 1);
    receive.peer = pair.peer(1);
    receive.communicator = core::CommunicatorId{id};
    pair.receive(1, receive);
  }
  for (std::uint16_t id = 2; id <= kLast; ++id) {
    core::SendArgs send = send_with(data, 2);
    send.communicator = core::CommunicatorId{id};
    pair.send(0, send);
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.count(0, EventKind::kAborted) == kLast - 1U; }));
  EXPECT_EQ(pair.count(1, EventKind::kAborted), kLast - 1U);
}

}  // namespace
}  // namespace zhinu::sim::test

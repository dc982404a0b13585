#include "core/endpoint.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/connected_pair_test.h"
#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::Datagram;
using test::engine_options;
using test::kWorldCommunicator;
using test::Link;

using test::kPeer;

using EndpointCalls = test::ConnectedPair;

TEST_F(EndpointCalls, send__each_argument_is_checked) {
  const SendArgs good = link.send_args(bytes);
  SendArgs args = good;
  args.peer = PeerId{1};
  EXPECT_EQ(send(args), Errc::kUnknownPeer);
  args.peer = PeerId::none();
  EXPECT_EQ(send(args), Errc::kUnknownPeer);
  args = good;
  args.traffic_class = TrafficClass::kControl;
  EXPECT_EQ(send(args), Errc::kInvalidArgument);
  args.traffic_class = static_cast<TrafficClass>(kTrafficClasses);
  EXPECT_EQ(send(args), Errc::kInvalidArgument);
  args = good;
  args.communicator = CommunicatorId{2};
  EXPECT_EQ(send(args), Errc::kUnknownCommunicator);
  args = good;
  args.digest = 0x1'000'000;
  EXPECT_EQ(send(args), Errc::kInvalidArgument);
  args.digest = 0xff'ffff;
  args.tag = 0x1'0000;
  EXPECT_EQ(send(args), Errc::kInvalidArgument);
  args.tag = 0xffff;
  EXPECT_EQ(send(args), Errc::kOk);
  args.digest = 0;
  args.tag = 0xffff'ffff;
  EXPECT_EQ(send(args), Errc::kOk);
  ASSERT_TRUE(link[0].abort(link.now, kWorldCommunicator, Errc::kAborted).ok());
  EXPECT_EQ(send(good), Errc::kAborted);
}

TEST_F(EndpointCalls, receive__each_argument_is_checked) {
  const ReceiveArgs good = link.receive_args(bytes);
  ReceiveArgs args = good;
  args.peer = PeerId{1};
  EXPECT_EQ(receive(args), Errc::kUnknownPeer);
  args = good;
  args.traffic_class = TrafficClass::kControl;
  EXPECT_EQ(receive(args), Errc::kInvalidArgument);
  args.peer = PeerId::none();
  EXPECT_EQ(receive(args), Errc::kInvalidArgument);
  args = good;
  args.communicator = CommunicatorId{2};
  EXPECT_EQ(receive(args), Errc::kUnknownCommunicator);
  args.peer = PeerId::none();
  EXPECT_EQ(receive(args), Errc::kUnknownCommunicator);
  args = good;
  args.digest = 1;
  args.tag = 0x1'0000;
  EXPECT_EQ(receive(args), Errc::kInvalidArgument);
  args = good;
  args.peer = PeerId::none();
  EXPECT_EQ(receive(args), Errc::kOk);
}

TEST_F(EndpointCalls, receive__any_source_has_a_class_that_exists) {
  ReceiveArgs args = link.receive_args(bytes);
  args.peer = PeerId::none();
  args.traffic_class = static_cast<TrafficClass>(kTrafficClasses);
  EXPECT_EQ(receive(args), Errc::kInvalidArgument);
}

TEST_F(EndpointCalls, write_and_read__the_range_may_not_wrap) {
  WriteArgs writing;
  writing.peer = kPeer;
  writing.communicator = kWorldCommunicator;
  writing.data = ByteSpan(bytes).first(10);
  writing.offset = ~0ULL - 9;
  EXPECT_EQ(write(writing), Errc::kInvalidArgument);
  writing.offset = ~0ULL - 10;
  EXPECT_EQ(write(writing), Errc::kOk);
  writing.traffic_class = TrafficClass::kControl;
  EXPECT_EQ(write(writing), Errc::kInvalidArgument);
  ReadArgs reading;
  reading.peer = kPeer;
  reading.communicator = kWorldCommunicator;
  reading.buffer = MutableByteSpan(bytes).first(10);
  reading.offset = ~0ULL - 9;
  EXPECT_EQ(read(reading), Errc::kInvalidArgument);
  reading.peer = PeerId{1};
  EXPECT_EQ(read(reading), Errc::kUnknownPeer);
}

TEST_F(EndpointCalls, send_and_receive__full_pools) {
  for (std::uint32_t i = 0; i < engine_options().sends_max; ++i) {
    ASSERT_EQ(send(link.send_args({})), Errc::kOk);
  }
  EXPECT_EQ(send(link.send_args({})), Errc::kFull);
  for (std::uint32_t i = 0; i < engine_options().receives_max; ++i) {
    ASSERT_EQ(receive(link.receive_args({})), Errc::kOk);
  }
  EXPECT_EQ(receive(link.receive_args({})), Errc::kFull);
}

TEST_F(EndpointCalls, peers_and_paths__unknown_ones) {
  EXPECT_EQ(link[0].add_path(link.now, PeerId{5}, {}).error(), Errc::kUnknownPeer);
  EXPECT_EQ(link[0].close_peer(link.now, PeerId{5}).error(), Errc::kUnknownPeer);
  EXPECT_EQ(link[0].path_status(PeerId{5}, 0).error(), Errc::kUnknownPeer);
  EXPECT_EQ(link[0].path_status(kPeer, 1).error(), Errc::kBadPath);
  EXPECT_FALSE(link[0].peer_is_up(PeerId{5}));
  for (std::uint32_t path = 1; path < engine_options().paths_max; ++path) {
    ASSERT_EQ(link[0].add_path(link.now, kPeer, test::path_to(2)).value(), path);
  }
  EXPECT_EQ(link[0].add_path(link.now, kPeer, test::path_to(2)).error(), Errc::kFull);
}

TEST_F(EndpointCalls, communicators__made_and_destroyed) {
  EXPECT_EQ(link[0].create_communicator(kWorldCommunicator).error(), Errc::kExists);
  EXPECT_EQ(link[0].create_communicator(CommunicatorId::none()).error(), Errc::kInvalidArgument);
  EXPECT_EQ(link[0].destroy_communicator(link.now, CommunicatorId{9}).error(),
            Errc::kUnknownCommunicator);
  EXPECT_EQ(link[0].abort(link.now, CommunicatorId{9}, Errc::kAborted).error(),
            Errc::kUnknownCommunicator);
  ASSERT_EQ(receive(link.receive_args(bytes)), Errc::kOk);
  ASSERT_TRUE(link[0].destroy_communicator(link.now, kWorldCommunicator).ok());
  EXPECT_EQ(status_of(0), Errc::kCancelled);
  EXPECT_EQ(send(link.send_args(bytes)), Errc::kUnknownCommunicator);
  ASSERT_TRUE(link[0].create_communicator(kWorldCommunicator).ok());
  EXPECT_EQ(send(link.send_args(bytes)), Errc::kOk);
}

TEST_F(EndpointCalls, cancel__only_what_is_posted) {
  EXPECT_EQ(link[0].cancel(link.now, {}).error(), Errc::kUnknownOperation);
  EXPECT_EQ(link[0].cancel(link.now, {0, 0, true}).error(), Errc::kUnknownOperation);
  const auto posted = link[0].receive(link.now, link.receive_args(bytes));
  ASSERT_TRUE(posted.ok());
  Operation stale = posted.value();
  ++stale.generation;
  EXPECT_EQ(link[0].cancel(link.now, stale).error(), Errc::kUnknownOperation);
  EXPECT_TRUE(link[0].cancel(link.now, posted.value()).ok());
  EXPECT_EQ(status_of(0), Errc::kCancelled);
  EXPECT_EQ(link[0].cancel(link.now, posted.value()).error(), Errc::kUnknownOperation);
}

TEST_F(EndpointCalls, regions__registered_and_revoked) {
  RegionKey last;
  for (std::uint32_t i = 0; i < engine_options().regions_max; ++i) {
    const auto key = link[0].register_region(bytes, {true, true});
    ASSERT_TRUE(key.ok());
    EXPECT_FALSE(key.value() == last);
    last = key.value();
  }
  EXPECT_EQ(link[0].register_region(bytes, {}).error(), Errc::kFull);
  EXPECT_TRUE(link[0].revoke_region(link.now, last).ok());
  EXPECT_EQ(link[0].revoke_region(link.now, last).error(), Errc::kUnknownRegion);
}

TEST_F(EndpointCalls, abort__both_sides_end_and_are_told_once) {
  ASSERT_EQ(receive(link.receive_args(bytes)), Errc::kOk);
  ASSERT_TRUE(link[1].receive(link.now, link.receive_args(bytes)).ok());
  ASSERT_TRUE(link[0].abort(link.now, kWorldCommunicator, Errc::kCancelled).ok());
  ASSERT_TRUE(link[0].abort(link.now, kWorldCommunicator, Errc::kAborted).ok());
  link.run_for(seconds(1));
  for (std::uint32_t side = 0; side < 2; ++side) {
    EXPECT_EQ(status_of(side), Errc::kAborted);
    const auto events = link.events(side);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, EventKind::kAborted);
    EXPECT_EQ(events[0].code, Errc::kCancelled);
    EXPECT_EQ(events[0].reporter_rank, 1U);
  }
  EXPECT_EQ(link.timeout(), Instant::never());
}

TEST_F(EndpointCalls, abort__flood_of_communicators_under_loss) {
  constexpr std::uint16_t kCommunicators = 40;
  for (std::uint32_t side = 0; side < 2; ++side) {
    for (std::uint16_t id = 2; id < 2 + kCommunicators; ++id) {
      ASSERT_TRUE(link[side].create_communicator(CommunicatorId{id}).ok());
    }
  }
  Prng prng(6);
  link.fate = [&](const Datagram&) { return prng.next() % 3 != 0; };
  for (std::uint16_t id = 2; id < 2 + kCommunicators; ++id) {
    ASSERT_TRUE(link[id % 2].abort(link.now, CommunicatorId{id}, Errc::kAborted).ok());
  }
  link.run_for(seconds(5));
  EXPECT_EQ(peer_events(0).size(), kCommunicators);
  EXPECT_EQ(peer_events(1).size(), kCommunicators);
}

TEST_F(EndpointCalls, revoke_region__write_under_way_ends_on_both_sides) {
  std::vector<std::byte> memory(bytes.size());
  const auto key = link[1].register_region(memory, {.remote_read = false, .remote_write = true});
  ASSERT_TRUE(key.ok());
  WriteArgs args;
  args.peer = kPeer;
  args.communicator = kWorldCommunicator;
  args.data = bytes;
  args.region = key.value();
  std::uint32_t packets = 0;
  link.fate = [&](const Datagram& datagram) { return datagram.from == 1 || ++packets < 4; };
  ASSERT_EQ(write(args), Errc::kOk);
  link.settle();
  ASSERT_GT(packets, 4U);  // some bytes came, some did not
  ASSERT_TRUE(link[1].revoke_region(link.now, key.value()).ok());
  const std::vector<std::byte> then = memory;
  link.fate = {};
  link.run_for(seconds(2));
  EXPECT_EQ(status_of(0), Errc::kRegionRefused);
  EXPECT_EQ(memory, then);  // not touched any more
}

TEST_F(EndpointCalls, register_region__access_is_what_was_given) {
  std::vector<std::byte> memory(1'000, std::byte{3});
  const auto key = link[1].register_region(memory, {.remote_read = true, .remote_write = false});
  ASSERT_TRUE(key.ok());
  WriteArgs writing;
  writing.peer = kPeer;
  writing.communicator = kWorldCommunicator;
  writing.data = ByteSpan(bytes).first(100);
  writing.region = key.value();
  ASSERT_EQ(write(writing), Errc::kOk);
  link.run_for(milliseconds(10));
  EXPECT_EQ(status_of(0), Errc::kRegionRefused);
  EXPECT_EQ(memory, std::vector<std::byte>(1'000, std::byte{3}));
  std::vector<std::byte> copy(1'000);
  ReadArgs reading;
  reading.peer = kPeer;
  reading.communicator = kWorldCommunicator;
  reading.buffer = copy;
  reading.region = key.value();
  ASSERT_EQ(read(reading), Errc::kOk);
  link.run_for(milliseconds(10));
  EXPECT_EQ(status_of(0), Errc::kOk);
  EXPECT_EQ(copy, memory);
  reading.offset = 1;
  ASSERT_EQ(read(reading), Errc::kOk);
  link.run_for(milliseconds(10));
  EXPECT_EQ(status_of(0), Errc::kRegionRefused);
}

TEST(EndpointFootprint, footprint__stays_within_the_budgets) {
  Link link;
  const Endpoint::Footprint print = link[0].footprint();
  EXPECT_LE(print.flow, 1'024U);
  EXPECT_LE(print.path_out, 256U);
  EXPECT_LE(print.path_in, 256U);
  EXPECT_LE(print.communicator, 4'096U);
  EXPECT_GT(print.endpoint, 0U);
  EXPECT_GT(print.arena, 0U);
}

}  // namespace
}  // namespace zhinu::core

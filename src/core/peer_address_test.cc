#include "core/peer_address.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/engine_fixture_test.h"

namespace zhinu::core {
namespace {

using test::address_of;
using test::Engine;

// A peer with NICs at addresses 9 and 10; ours send each to the one of the same number, but
// NIC 2, which sends to both.
class PeerAddress : public testing::Test {
 protected:
  PeerAddress() {
    for (const auto& [host, nic] : {std::pair{9, 0}, {10, 1}, {9, 2}, {10, 2}}) {
      EXPECT_TRUE(peer.add_path(test::path_to(static_cast<std::uint8_t>(host),
                                              static_cast<std::uint8_t>(nic)))
                      .ok());
    }
  }
  bool learn(std::uint8_t in_path, std::uint8_t host, std::uint8_t nic) {
    Arrival arrival;
    arrival.from = address_of(host);
    arrival.nic = nic;
    return learn_address(engine.now, peer, engine.in_path(peer, in_path), arrival);
  }
  void expect_remotes(std::initializer_list<std::uint8_t> hosts) {
    std::uint8_t path = 0;
    for (const std::uint8_t host : hosts) {
      EXPECT_EQ(peer.paths.config(path).remote, address_of(host)) << "path " << int{path};
      ++path;
    }
  }

  Engine engine;
  Peer& peer = engine.add_peer(0);
};

TEST_F(PeerAddress, learn_address__where_it_is_sent_to) {
  EXPECT_FALSE(learn(0, 9, 0));
  EXPECT_FALSE(learn(1, 10, 1));
  expect_remotes({9, 10, 9, 10});
}

TEST_F(PeerAddress, learn_address__a_known_one_moves_with_all_its_paths) {
  EXPECT_FALSE(learn(0, 9, 0));
  EXPECT_TRUE(learn(0, 77, 0));
  expect_remotes({77, 10, 77, 10});
  EXPECT_EQ(peer.paths.state(0), PathState::kProbing);
  EXPECT_EQ(peer.paths.state(1), PathState::kGood);
  // Another path of the same NIC comes from there, too.
  EXPECT_FALSE(learn(1, 77, 0));
}

TEST_F(PeerAddress, learn_address__it_moved_before_it_was_heard) {
  EXPECT_TRUE(learn(0, 77, 0));
  expect_remotes({77, 10, 77, 10});
}

TEST_F(PeerAddress, learn_address__a_nic_that_sends_to_both_tells_once_the_other_was_heard) {
  EXPECT_FALSE(learn(0, 77, 2));
  expect_remotes({9, 10, 9, 10});
  EXPECT_FALSE(learn(1, 10, 2));
  EXPECT_TRUE(learn(2, 77, 2));
  expect_remotes({77, 10, 77, 10});
}

TEST_F(PeerAddress, learn_address__it_moved_before_this_path_was_used) {
  EXPECT_FALSE(learn(0, 9, 0));
  EXPECT_TRUE(learn(1, 77, 0));
  expect_remotes({77, 10, 77, 10});
  // What left before the move came later.
  EXPECT_FALSE(learn(2, 9, 0));
  expect_remotes({77, 10, 77, 10});
  EXPECT_FALSE(learn(2, 77, 0));
  EXPECT_FALSE(learn(0, 77, 0));
}

TEST_F(PeerAddress, learn_address__a_nic_that_sends_to_both_cannot_tell_when_both_were_heard) {
  EXPECT_FALSE(learn(0, 9, 2));
  EXPECT_FALSE(learn(1, 10, 2));
  EXPECT_FALSE(learn(2, 77, 2));
  expect_remotes({9, 10, 9, 10});
}

}  // namespace
}  // namespace zhinu::core

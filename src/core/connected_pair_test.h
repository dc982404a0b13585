// Two endpoints that are up, for tests of calls and timers.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/engine_fixture_test.h"

namespace zhinu::core::test {

inline constexpr PeerId kPeer = Link::kPeer;

class ConnectedPair : public testing::Test {
 protected:
  ConnectedPair() { link.connect(); }
  Errc send(const SendArgs& args) { return link[0].send(link.now, args).error(); }
  Errc receive(const ReceiveArgs& args) { return link[0].receive(link.now, args).error(); }
  Errc write(const WriteArgs& args) { return link[0].write(link.now, args).error(); }
  Errc read(const ReadArgs& args) { return link[0].read(link.now, args).error(); }
  // Without what became of paths.
  std::vector<Event> peer_events(std::uint32_t side) {
    std::vector<Event> events = link.events(side);
    std::erase_if(events, [](const Event& e) { return e.kind == EventKind::kPathChanged; });
    return events;
  }
  Errc status_of(std::uint32_t side) {
    const auto done = link.completions(side);
    EXPECT_EQ(done.size(), 1U);
    return done.empty() ? Errc::kInvalidArgument : done[0].status;
  }

  Link link;
  std::vector<std::byte> bytes = sample_packet(100'000);
};

}  // namespace zhinu::core::test

// Two endpoints in one thread, joined by memory: what the micro benchmarks drive.
//
// A packet is encoded, sealed, opened and decoded like on a network; only the
// network is missing. Virtual time moves by a fixed step per exchange.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "core/endpoint.h"

namespace zhinu::bench {

class SeededEntropy : public core::Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : prng_(seed) {}
  void fill(MutableByteSpan out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(prng_.next() & 0xff);
  }

 private:
  Prng prng_;
};

class TwoCores {
 public:
  TwoCores(const core::EndpointOptions& options, core::SealMode seal, std::uint32_t paths,
           std::uint32_t packet_bytes)
      : datagram_(wire::kPacketBytesMax) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      core::Identity identity;
      identity.rank = side;
      identity.world = 1;
      identity.incarnation = 100 + side;
      identity.seal = seal;
      sides_[side] = std::make_unique<core::Endpoint>(options, identity, entropy_[side]);
    }
    for (std::uint32_t side = 0; side < 2; ++side) {
      std::vector<core::PathConfig> configs(paths);
      for (std::uint32_t i = 0; i < paths; ++i) {
        configs[i].remote.bytes[0] = static_cast<std::byte>(1 - side);
        configs[i].group = static_cast<std::uint8_t>(i);
        configs[i].key = static_cast<std::uint16_t>(i);
        configs[i].packet_bytes_max = packet_bytes;
      }
      const auto peer = sides_[side]->add_peer(now_, {1 - side, configs});
      ZHINU_ASSERT(peer.ok());
      peers_[side] = peer.value();
    }
    for (int i = 0; i < 100 && !(up(0) && up(1)); ++i) {
      tick(milliseconds(1));
      exchange();
    }
    ZHINU_ASSERT(up(0) && up(1));
    tick(milliseconds(1));
    exchange();
  }

  core::Endpoint& side(std::uint32_t index) { return *sides_[index]; }
  core::PeerId peer(std::uint32_t side) const { return peers_[side]; }
  Instant now() const { return now_; }

  void create_communicators(std::uint16_t count) {
    for (std::uint16_t id = 1; id <= count; ++id) {
      for (auto& side : sides_) {
        const Status made = side->create_communicator({id});
        ZHINU_ASSERT(made.ok());
      }
    }
  }

  // Lets time pass and serves what is due.
  void tick(Duration step) {
    now_ = now_ + step;
    for (auto& side : sides_) side->handle_timeout(now_);
  }
  // Everything that `from` has to send now reaches the other side; packets moved.
  std::uint32_t deliver(std::uint32_t from, std::uint64_t drop_paths = 0) {
    std::uint32_t packets = 0;
    core::Transmit transmit;
    core::Arrival arrival;
    arrival.from.bytes[0] = static_cast<std::byte>(from);
    while (sides_[from]->poll_transmit(now_, transmit)) {
      const auto encoded = sides_[from]->encode(transmit, datagram_, SIZE_MAX);
      ZHINU_ASSERT(encoded.ok());
      ++packets;
      if ((drop_paths >> transmit.route.path & 1) != 0) continue;
      static_cast<void>(sides_[1 - from]->handle_datagram(
          now_, arrival, ByteSpan(datagram_).first(encoded.value().head_bytes)));
    }
    return packets;
  }
  void exchange() {
    while (deliver(0) + deliver(1) > 0) {
    }
  }

 private:
  bool up(std::uint32_t side) const { return sides_[side]->peer_is_up(peers_[side]); }

  Instant now_{1'000'000};
  std::array<SeededEntropy, 2> entropy_{SeededEntropy(1), SeededEntropy(2)};
  std::array<std::unique_ptr<core::Endpoint>, 2> sides_;
  std::array<core::PeerId, 2> peers_;
  std::vector<std::byte> datagram_;
};

}  // namespace zhinu::bench

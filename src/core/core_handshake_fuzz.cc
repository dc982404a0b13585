// Any bytes as a conversation with a responder and an initiator. As they are, they
// must have a bad tag; tagged with the key of the job, as a broken or malicious member
// of it would, they must be answered by the rules and break nothing.
//
// The input is a row of steps: one byte of choices, then a handshake packet without
// its tag. A choice may make a packet fit that bytes alone would hardly hit.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/check.h"
#include "core/handshake.h"
#include "core/handshake_samples_test.h"
#include "wire/codec.h"

namespace zhinu::core {
namespace {

using wire::HandshakeKind;
using wire::HandshakePacket;

constexpr std::size_t kTaggedBytes = wire::kHandshakeBytes - wire::kTagBytes;
constexpr std::size_t kStepBytes = 1 + kTaggedBytes;

// The byte of choices.
constexpr std::uint8_t kToInitiator = 0x01;
constexpr std::uint8_t kForeignKey = 0x02;
constexpr std::uint8_t kIdsFit = 0x04;      // connection ids, ranks and world
constexpr std::uint8_t kCookieFits = 0x08;  // the one that the responder gave last
constexpr std::uint8_t kTermsFit = 0x10;    // versions and sizes
constexpr std::uint8_t kWait = 0x20;        // a second passes first

class Conversation {
 public:
  void step(std::uint8_t choices, ByteSpan tagged) {
    if ((choices & kWait) != 0) now_ = now_ + seconds(1);
    std::array<std::byte, wire::kHandshakeBytes> datagram{};
    std::memcpy(datagram.data(), tagged.data(), tagged.size());
    HandshakePacket packet;
    const Status raw = check_and_decode(responder_context_.identity, datagram, packet);
    ZHINU_ASSERT(!raw.ok());
    if (!wire::decode_handshake(datagram, packet).ok()) return;
    ZHINU_ASSERT(raw.error() == Errc::kBadTag);

    fit(choices, packet);
    Identity sender = test::initiator_context().identity;
    if ((choices & kForeignKey) != 0) sender.job_key = test::job_key_of(99);
    ZHINU_ASSERT(encode_and_tag(sender, packet, datagram).ok());
    HandshakePacket received;
    const Status status = check_and_decode(responder_context_.identity, datagram, received);
    ZHINU_ASSERT(status.ok() == ((choices & kForeignKey) == 0));
    if (!status.ok()) return;
    if ((choices & kToInitiator) != 0) {
      to_initiator(received);
    } else {
      to_responder(received);
    }
  }

 private:
  void fit(std::uint8_t choices, HandshakePacket& packet) const {
    const bool to_initiator = (choices & kToInitiator) != 0;
    if ((choices & kIdsFit) != 0) {
      packet.connection = to_initiator ? test::kInitiatorConnection : 0;
      packet.source_connection = test::kResponderConnection;
      packet.world = test::kWorld;
      packet.rank = to_initiator ? test::kResponderRank : test::kInitiatorRank;
      packet.target_rank = to_initiator ? test::kInitiatorRank : test::kResponderRank;
    }
    if ((choices & kCookieFits) != 0) packet.cookie = cookie_;
    if ((choices & kTermsFit) != 0) {
      packet.version_min = packet.version_max = wire::kVersionMax;
      packet.packet_bytes_max = std::max(packet.packet_bytes_max, kPacketBytesMin);
    }
  }

  void to_responder(const HandshakePacket& hello) {
    const Address from = test::address_of(1);
    const Result<Responder::Reply> reply =
        responder_.handle_hello(now_, from, hello, test::kResponderConnection, entropy_);
    if (!reply.ok()) {
      if (reply.error() != Errc::kBadKind && reply.error() != Errc::kUnknownConnection) {
        expect_can_be_sent(responder_.refusal(hello, reply.error()));
      }
      return;
    }
    expect_can_be_sent(*reply.value().packet);
    const bool is_welcome = reply.value().packet->kind == HandshakeKind::kWelcome;
    ZHINU_ASSERT(is_welcome == reply.value().established.has_value());
    if (is_welcome) {
      ZHINU_ASSERT(hello.cookie != Cookie{});
      expect_terms(*reply.value().established, responder_context_);
    } else {
      ZHINU_ASSERT(reply.value().packet->kind == HandshakeKind::kRetry);
      cookie_ = reply.value().packet->cookie;
    }
  }

  void to_initiator(const HandshakePacket& packet) {
    const Result<std::optional<Established>> result = initiator_.handle(now_, packet);
    if (result.ok() && result.value().has_value()) {
      ZHINU_ASSERT(packet.kind == HandshakeKind::kWelcome);
      ZHINU_ASSERT(!established_);
      established_ = true;
      expect_terms(*result.value(), initiator_context_);
    }
    ZHINU_ASSERT((initiator_.timeout() == Instant::never()) == established_);
    if (const auto hello = initiator_.poll_transmit(now_)) {
      ZHINU_ASSERT(!established_);
      ZHINU_ASSERT(initiator_.timeout() > now_);
      expect_can_be_sent(*hello);
    }
  }

  void expect_can_be_sent(const HandshakePacket& packet) const {
    std::array<std::byte, wire::kHandshakeBytes> out{};
    ZHINU_ASSERT(encode_and_tag(responder_context_.identity, packet, out).ok());
  }

  static void expect_terms(const Established& established, const HandshakeContext& context) {
    ZHINU_ASSERT(established.version == wire::kVersionMax);
    ZHINU_ASSERT(established.local_connection != 0);
    ZHINU_ASSERT(established.remote_connection != 0);
    ZHINU_ASSERT(established.path_count <= context.path_count_max);
    ZHINU_ASSERT(established.packet_bytes_max >= kPacketBytesMin);
    ZHINU_ASSERT(established.packet_bytes_max <= context.packet_bytes_max);
    ZHINU_ASSERT(established.eager_bytes_max <= context.eager_bytes_max);
  }

  Instant now_ = test::kStart;
  test::SeededEntropy entropy_{1};
  const HandshakeContext initiator_context_ = test::initiator_context();
  const HandshakeContext responder_context_ = test::responder_context();
  Initiator initiator_{now_, initiator_context_, test::kResponderRank, test::kInitiatorConnection,
                       entropy_};
  Responder responder_{responder_context_, entropy_};
  Cookie cookie_{};
  bool established_ = false;
};

void run(ByteSpan input) {
  Conversation conversation;
  while (input.size() >= kStepBytes) {
    conversation.step(std::to_integer<std::uint8_t>(input[0]), input.subspan(1, kTaggedBytes));
    input = input.subspan(kStepBytes);
  }
  // What is left is no whole packet.
  HandshakePacket packet;
  const ByteSpan rest = input.first(std::min(input.size(), kTaggedBytes));
  ZHINU_ASSERT(!check_and_decode(test::initiator_context().identity, rest, packet).ok());
}

}  // namespace
}  // namespace zhinu::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zhinu::core::run(std::as_bytes(std::span(data, size)));
  return 0;
}

#include <gtest/gtest.h>

#include <vector>

#include "core/handshake.h"
#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::initiator_context;
using test::kInitiatorConnection;
using test::kInitiatorRank;
using test::kResponderConnection;
using test::kResponderRank;
using test::kStart;
using test::kWorld;
using test::SeededEntropy;
using wire::HandshakeKind;
using wire::HandshakePacket;

class InitiatorTest : public ::testing::Test {
 protected:
  explicit InitiatorTest(const HandshakeContext& context = initiator_context())
      : context_(context),
        initiator_(kStart, context, kResponderRank, kInitiatorConnection, entropy_) {}

  // An answer that fits; the tests spoil one member each.
  HandshakePacket answer(HandshakeKind kind) const {
    HandshakePacket packet;
    packet.kind = kind;
    packet.path_count = 4;
    packet.connection = kInitiatorConnection;
    packet.source_connection = kind == HandshakeKind::kWelcome ? kResponderConnection : 0;
    packet.world = kWorld;
    packet.incarnation = 77;
    packet.rank = kResponderRank;
    packet.target_rank = kInitiatorRank;
    packet.packet_bytes_max = 4'000;
    packet.eager_bytes_max = 2'000;
    packet.nonce.fill(std::byte{9});
    if (kind == HandshakeKind::kRetry) packet.cookie.fill(std::byte{5});
    if (kind == HandshakeKind::kRefuse) packet.code = Errc::kBadVersion;
    return packet;
  }
  Errc error_of(const HandshakePacket& packet) {
    const Result<std::optional<Established>> result = initiator_.handle(kStart, packet);
    return result.ok() ? Errc::kOk : result.error();
  }
  template <class Change>
  Errc error_of(HandshakeKind kind, Change change) {
    HandshakePacket packet = answer(kind);
    change(packet);
    return error_of(packet);
  }
  // Steps through time; the intervals between `count` HELLOs from `now` on.
  std::vector<Duration> intervals(Instant now, std::size_t count) {
    std::vector<Duration> result;
    for (std::size_t i = 0; i < count; ++i) {
      const Instant next = initiator_.timeout();
      EXPECT_FALSE(initiator_.poll_transmit(next - nanoseconds(1)).has_value());
      EXPECT_TRUE(initiator_.poll_transmit(next).has_value());
      result.push_back(next - now);
      now = next;
    }
    return result;
  }

  SeededEntropy entropy_{3};
  HandshakeContext context_;
  Initiator initiator_;
};

TEST_F(InitiatorTest, poll_transmit__hello_at_once) {
  EXPECT_EQ(initiator_.timeout(), kStart);
  const std::optional<HandshakePacket> hello = initiator_.poll_transmit(kStart);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->kind, HandshakeKind::kHello);
  EXPECT_EQ(hello->version_min, context_.version_min);
  EXPECT_EQ(hello->version_max, context_.version_max);
  EXPECT_EQ(hello->path_count, context_.path_count);
  EXPECT_EQ(hello->code, Errc::kOk);
  EXPECT_EQ(hello->connection, 0U);
  EXPECT_EQ(hello->source_connection, kInitiatorConnection);
  EXPECT_EQ(hello->world, kWorld);
  EXPECT_EQ(hello->incarnation, context_.identity.incarnation);
  EXPECT_EQ(hello->rank, kInitiatorRank);
  EXPECT_EQ(hello->target_rank, kResponderRank);
  EXPECT_EQ(hello->packet_bytes_max, context_.packet_bytes_max);
  EXPECT_EQ(hello->eager_bytes_max, context_.eager_bytes_max);
  EXPECT_NE(hello->nonce, HandshakePacket{}.nonce);
  EXPECT_EQ(hello->cookie, Cookie{});
  EXPECT_FALSE(initiator_.poll_transmit(kStart).has_value());
}

TEST_F(InitiatorTest, poll_transmit__back_off_doubles_to_the_maximum) {
  ASSERT_TRUE(initiator_.poll_transmit(kStart).has_value());
  const std::vector<Duration> waits = intervals(kStart, 10);
  Duration nominal = context_.hello_interval_first;
  for (const Duration wait : waits) {
    EXPECT_LE(wait, nominal);
    EXPECT_GE(wait, nominal * 3 / 4);
    nominal = std::min(nominal * 2, context_.hello_interval_max);
  }
  EXPECT_EQ(nominal, context_.hello_interval_max);
}

TEST_F(InitiatorTest, poll_transmit__jitter_comes_from_the_entropy) {
  const auto waits_of = [&](std::uint64_t seed) {
    SeededEntropy entropy(seed);
    initiator_ = Initiator(kStart, context_, kResponderRank, kInitiatorConnection, entropy);
    initiator_.poll_transmit(kStart);
    return intervals(kStart, 8);
  };
  const std::vector<Duration> first = waits_of(1);
  EXPECT_EQ(waits_of(1), first);
  EXPECT_NE(waits_of(2), first);
}

TEST_F(InitiatorTest, poll_transmit__one_attempt_has_one_nonce_and_another_has_its_own) {
  const HandshakePacket first = *initiator_.poll_transmit(kStart);
  const HandshakePacket again = *initiator_.poll_transmit(initiator_.timeout());
  EXPECT_EQ(again.nonce, first.nonce);
  Initiator other(kStart, context_, kResponderRank, kInitiatorConnection + 1, entropy_);
  EXPECT_NE(other.poll_transmit(kStart)->nonce, first.nonce);
}

TEST_F(InitiatorTest, handle__retry_brings_a_hello_with_the_cookie_at_once) {
  initiator_.poll_transmit(kStart);
  const Instant now = kStart + microseconds(50);
  const auto result = initiator_.handle(now, answer(HandshakeKind::kRetry));
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().has_value());
  EXPECT_EQ(initiator_.timeout(), now);
  const std::optional<HandshakePacket> hello = initiator_.poll_transmit(now);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->cookie, answer(HandshakeKind::kRetry).cookie);
  EXPECT_EQ(hello->source_connection, kInitiatorConnection);
}

TEST_F(InitiatorTest, handle__retry_starts_the_back_off_again) {
  initiator_.poll_transmit(kStart);
  intervals(kStart, 8);
  const Instant now = initiator_.timeout() - milliseconds(1);
  ASSERT_TRUE(initiator_.handle(now, answer(HandshakeKind::kRetry)).ok());
  EXPECT_TRUE(initiator_.poll_transmit(now).has_value());
  EXPECT_LE(initiator_.timeout() - now, context_.hello_interval_first);
}

TEST_F(InitiatorTest, handle__retry_repeated_makes_no_hello) {
  initiator_.poll_transmit(kStart);
  ASSERT_TRUE(initiator_.handle(kStart, answer(HandshakeKind::kRetry)).ok());
  ASSERT_TRUE(initiator_.poll_transmit(kStart).has_value());
  intervals(kStart, 8);
  const Instant timeout = initiator_.timeout();
  const Instant now = timeout - milliseconds(1);
  EXPECT_TRUE(initiator_.handle(now, answer(HandshakeKind::kRetry)).ok());
  EXPECT_FALSE(initiator_.poll_transmit(now).has_value());
  EXPECT_EQ(initiator_.timeout(), timeout);
}

TEST_F(InitiatorTest, handle__flood_of_recorded_retries_does_not_set_the_pace) {
  Instant now = kStart;
  int hellos = 0;
  for (int i = 0; i < 10'000; ++i, now = now + microseconds(100)) {
    HandshakePacket retry = answer(HandshakeKind::kRetry);
    retry.cookie[0] = static_cast<std::byte>(i);
    EXPECT_TRUE(initiator_.handle(now, retry).ok());
    if (initiator_.poll_transmit(now).has_value()) ++hellos;
  }
  // One second: what the first interval allows, with its jitter, and not 10,000.
  EXPECT_LE(hellos, 1 + 1'000 / 15);
  EXPECT_GE(hellos, 1'000 / 21);
}

TEST_F(InitiatorTest, handle__welcome_establishes) {
  initiator_.poll_transmit(kStart);
  const auto result = initiator_.handle(kStart, answer(HandshakeKind::kWelcome));
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result.value().has_value());
  const Established& established = *result.value();
  EXPECT_EQ(established.local_connection, kInitiatorConnection);
  EXPECT_EQ(established.remote_connection, kResponderConnection);
  EXPECT_EQ(established.rank, kResponderRank);
  EXPECT_EQ(established.incarnation, 77U);
  EXPECT_EQ(established.version, 1);
  EXPECT_EQ(established.path_count, 4);
  EXPECT_EQ(established.packet_bytes_max, 4'000U);
  EXPECT_EQ(established.eager_bytes_max, 2'000U);
  EXPECT_EQ(established.sealer.mode(), SealMode::kGmac);
}

TEST_F(InitiatorTest, handle__welcome_ends_the_hellos) {
  initiator_.poll_transmit(kStart);
  ASSERT_TRUE(initiator_.handle(kStart, answer(HandshakeKind::kWelcome)).ok());
  EXPECT_EQ(initiator_.timeout(), Instant::never());
  EXPECT_FALSE(initiator_.poll_transmit(kStart + seconds(3'600)).has_value());
}

TEST_F(InitiatorTest, handle__welcome_terms_are_the_smaller_of_both) {
  const auto result = initiator_.handle(kStart, [&] {
    HandshakePacket welcome = answer(HandshakeKind::kWelcome);
    welcome.packet_bytes_max = 60'000;
    welcome.eager_bytes_max = 60'000;
    welcome.path_count = 255;
    return welcome;
  }());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()->packet_bytes_max, context_.packet_bytes_max);
  EXPECT_EQ(result.value()->eager_bytes_max, context_.eager_bytes_max);
  EXPECT_EQ(result.value()->path_count, context_.path_count_max);
}

TEST_F(InitiatorTest, handle__nothing_fits_after_the_welcome) {
  ASSERT_TRUE(initiator_.handle(kStart, answer(HandshakeKind::kWelcome)).ok());
  EXPECT_EQ(error_of(answer(HandshakeKind::kRetry)), Errc::kBadKind);
  EXPECT_EQ(error_of(answer(HandshakeKind::kWelcome)), Errc::kBadKind);
  EXPECT_EQ(error_of(answer(HandshakeKind::kRefuse)), Errc::kBadKind);
  EXPECT_EQ(initiator_.timeout(), Instant::never());
}

TEST_F(InitiatorTest, handle__hello_is_for_the_responder) {
  EXPECT_EQ(error_of(answer(HandshakeKind::kHello)), Errc::kBadKind);
}

TEST_F(InitiatorTest, handle__answer_to_another_connection) {
  for (const auto kind : {HandshakeKind::kRetry, HandshakeKind::kWelcome, HandshakeKind::kRefuse}) {
    EXPECT_EQ(error_of(kind, [](HandshakePacket& p) { ++p.connection; }), Errc::kUnknownConnection);
    EXPECT_EQ(error_of(kind, [](HandshakePacket& p) { p.connection = 0; }),
              Errc::kUnknownConnection);
    EXPECT_EQ(error_of(kind, [](HandshakePacket& p) { ++p.target_rank; }),
              Errc::kUnknownConnection);
  }
}

TEST_F(InitiatorTest, handle__answer_of_another_rank_or_world) {
  for (const auto kind : {HandshakeKind::kRetry, HandshakeKind::kWelcome}) {
    EXPECT_EQ(error_of(kind, [](HandshakePacket& p) { ++p.rank; }), Errc::kUnknownConnection);
    EXPECT_EQ(error_of(kind, [](HandshakePacket& p) { ++p.world; }), Errc::kUnknownConnection);
  }
  // None of them changed what we do next.
  EXPECT_EQ(initiator_.poll_transmit(kStart)->cookie, Cookie{});
}

TEST_F(InitiatorTest, handle__welcome_that_breaks_the_protocol) {
  const auto refused = [&](auto change) {
    return error_of(HandshakeKind::kWelcome, change) == Errc::kProtocolViolation;
  };
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.version_min = p.version_max = 2; }));
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.version_min = p.version_max = 0; }));
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.version_max = 2; }));
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.version_min = 0; }));
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.source_connection = 0; }));
  EXPECT_TRUE(refused([](HandshakePacket& p) { p.packet_bytes_max = kPacketBytesMin - 1; }));
  // A good one is still welcome.
  EXPECT_EQ(error_of(answer(HandshakeKind::kWelcome)), Errc::kOk);
}

TEST_F(InitiatorTest, handle__refuse_gives_the_code_of_the_peer) {
  for (const Errc code : {Errc::kBadVersion, Errc::kWrongWorld, Errc::kUnknownPeer,
                          Errc::kBadLength, static_cast<Errc>(9'999)}) {
    EXPECT_EQ(error_of(HandshakeKind::kRefuse, [&](HandshakePacket& p) { p.code = code; }), code);
  }
}

TEST_F(InitiatorTest, handle__refuse_comes_from_the_rank_and_world_that_do_not_fit) {
  EXPECT_EQ(error_of(HandshakeKind::kRefuse,
                     [](HandshakePacket& p) {
                       p.rank += 1;
                       p.world += 1;
                       p.code = Errc::kWrongWorld;
                     }),
            Errc::kWrongWorld);
}

TEST_F(InitiatorTest, handle__refuse_with_a_code_that_would_be_misread) {
  for (const Errc code : {Errc::kOk, Errc::kBadKind, Errc::kUnknownConnection}) {
    EXPECT_EQ(error_of(HandshakeKind::kRefuse, [&](HandshakePacket& p) { p.code = code; }),
              Errc::kProtocolViolation);
  }
}

TEST_F(InitiatorTest, handle__refused_goes_on_at_the_longest_interval) {
  initiator_.poll_transmit(kStart);
  EXPECT_EQ(error_of(answer(HandshakeKind::kRefuse)), Errc::kBadVersion);
  for (const Duration wait : intervals(kStart, 5)) {
    EXPECT_LE(wait, context_.hello_interval_max);
    EXPECT_GE(wait, context_.hello_interval_max * 3 / 4);
  }
  // The peer was restarted with what fits.
  EXPECT_EQ(error_of(answer(HandshakeKind::kWelcome)), Errc::kOk);
}

TEST(InitiatorDeathTest, connection_zero_means_none) {
  SeededEntropy entropy(1);
  EXPECT_DEATH(Initiator(kStart, initiator_context(), kResponderRank, 0, entropy), "connection");
}

}  // namespace
}  // namespace zhinu::core

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/handshake.h"
#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::address_of;
using test::first_hello;
using test::initiator_context;
using test::kInitiatorConnection;
using test::kInitiatorRank;
using test::kResponderConnection;
using test::kResponderRank;
using test::kStart;
using test::kWorld;
using test::responder_context;
using test::SeededEntropy;
using test::with_cookie;
using wire::HandshakeKind;
using wire::HandshakePacket;

class ResponderTest : public ::testing::Test {
 protected:
  Result<Responder::Reply> ask(const HandshakePacket& hello, Instant now = kStart) {
    return responder_.handle_hello(now, from_, hello, kResponderConnection, entropy_);
  }
  template <class Change>
  Errc error_of(Change change) {
    HandshakePacket hello = hello_;
    change(hello);
    const Result<Responder::Reply> reply = ask(hello);
    return reply.ok() ? Errc::kOk : reply.error();
  }
  // The HELLO with the cookie that the responder gives for it.
  HandshakePacket proven(const HandshakePacket& hello, Instant now = kStart) {
    return with_cookie(hello, ask(with_cookie(hello, {}), now).value().packet->cookie);
  }
  bool is_retry(const Result<Responder::Reply>& reply) {
    return reply.ok() && reply.value().packet->kind == HandshakeKind::kRetry &&
           !reply.value().established.has_value();
  }

  SeededEntropy entropy_{4};
  const HandshakeContext context_ = responder_context();
  Responder responder_{context_, entropy_};
  const Address from_ = address_of(1);
  const HandshakePacket hello_ = first_hello(initiator_context());
};

TEST_F(ResponderTest, handle_hello__without_cookie_gets_one_and_leaves_nothing) {
  const Result<Responder::Reply> reply = ask(hello_);
  ASSERT_TRUE(is_retry(reply));
  const HandshakePacket& retry = *reply.value().packet;
  EXPECT_NE(retry.cookie, Cookie{});
  EXPECT_EQ(retry.connection, kInitiatorConnection);
  EXPECT_EQ(retry.source_connection, 0U);
  EXPECT_EQ(retry.world, kWorld);
  EXPECT_EQ(retry.rank, kResponderRank);
  EXPECT_EQ(retry.target_rank, kInitiatorRank);
  EXPECT_EQ(retry.nonce, HandshakePacket{}.nonce);
}

TEST_F(ResponderTest, handle_hello__with_cookie_establishes) {
  const Result<Responder::Reply> reply = ask(proven(hello_));
  ASSERT_TRUE(reply.ok());
  const HandshakePacket& welcome = *reply.value().packet;
  EXPECT_EQ(welcome.kind, HandshakeKind::kWelcome);
  EXPECT_EQ(welcome.version_min, 1);
  EXPECT_EQ(welcome.version_max, 1);
  EXPECT_EQ(welcome.path_count, context_.path_count);
  EXPECT_EQ(welcome.connection, kInitiatorConnection);
  EXPECT_EQ(welcome.source_connection, kResponderConnection);
  EXPECT_EQ(welcome.world, kWorld);
  EXPECT_EQ(welcome.incarnation, context_.identity.incarnation);
  EXPECT_EQ(welcome.rank, kResponderRank);
  EXPECT_EQ(welcome.target_rank, kInitiatorRank);
  EXPECT_EQ(welcome.packet_bytes_max, context_.packet_bytes_max);
  EXPECT_EQ(welcome.eager_bytes_max, context_.eager_bytes_max);
  EXPECT_NE(welcome.nonce, HandshakePacket{}.nonce);
  EXPECT_EQ(welcome.cookie, Cookie{});

  ASSERT_TRUE(reply.value().established.has_value());
  const Established& established = *reply.value().established;
  EXPECT_EQ(established.local_connection, kResponderConnection);
  EXPECT_EQ(established.remote_connection, kInitiatorConnection);
  EXPECT_EQ(established.rank, kInitiatorRank);
  EXPECT_EQ(established.incarnation, initiator_context().identity.incarnation);
  EXPECT_EQ(established.version, 1);
}

TEST_F(ResponderTest, handle_hello__each_welcome_has_a_fresh_nonce) {
  const HandshakePacket hello = proven(hello_);
  EXPECT_NE(ask(hello).value().packet->nonce, ask(hello).value().packet->nonce);
}

TEST_F(ResponderTest, handle_hello__terms_are_the_smaller_of_both) {
  HandshakePacket hello = hello_;
  hello.packet_bytes_max = kPacketBytesMin;
  hello.eager_bytes_max = 0;
  hello.path_count = 2;
  Established small = *std::move(ask(proven(hello)).value().established);
  EXPECT_EQ(small.packet_bytes_max, kPacketBytesMin);
  EXPECT_EQ(small.eager_bytes_max, 0U);
  EXPECT_EQ(small.path_count, 2);

  hello.packet_bytes_max = 0xffff'ffff;
  hello.eager_bytes_max = 0xffff'ffff;
  hello.path_count = 255;
  Established large = *std::move(ask(proven(hello)).value().established);
  EXPECT_EQ(large.packet_bytes_max, context_.packet_bytes_max);
  EXPECT_EQ(large.eager_bytes_max, context_.eager_bytes_max);
  EXPECT_EQ(large.path_count, context_.path_count_max);
}

TEST_F(ResponderTest, handle_hello__cookie_from_another_address) {
  const HandshakePacket hello = proven(hello_);
  EXPECT_TRUE(is_retry(
      responder_.handle_hello(kStart, address_of(2), hello, kResponderConnection, entropy_)));
}

TEST_F(ResponderTest, handle_hello__expired_cookie_is_replaced) {
  const HandshakePacket hello = proven(hello_);
  const Instant later = kStart + context_.cookie_lifetime * 2;
  const Result<Responder::Reply> reply = ask(hello, later);
  ASSERT_TRUE(is_retry(reply));
  const HandshakePacket again = with_cookie(hello_, reply.value().packet->cookie);
  EXPECT_TRUE(ask(again, later).value().established.has_value());
}

TEST_F(ResponderTest, handle_hello__cookie_of_the_step_before) {
  const HandshakePacket hello = proven(hello_);
  EXPECT_TRUE(ask(hello, kStart + context_.cookie_lifetime).value().established.has_value());
}

TEST_F(ResponderTest, handle_hello__cookie_of_another_initiator) {
  HandshakePacket hello = proven(hello_);
  ++hello.source_connection;
  EXPECT_TRUE(is_retry(ask(hello)));
  hello = proven(hello_);
  ++hello.incarnation;
  EXPECT_TRUE(is_retry(ask(hello)));
  hello = proven(hello_);
  ++hello.rank;
  EXPECT_TRUE(is_retry(ask(hello)));
}

TEST_F(ResponderTest, handle_hello__cookie_of_the_process_before_the_restart) {
  const HandshakePacket hello = proven(hello_);
  responder_ = Responder(context_, entropy_);
  EXPECT_TRUE(is_retry(ask(hello)));
}

TEST_F(ResponderTest, handle_hello__only_hello) {
  for (const auto kind : {HandshakeKind::kRetry, HandshakeKind::kWelcome, HandshakeKind::kRefuse}) {
    EXPECT_EQ(error_of([&](HandshakePacket& p) { p.kind = kind; }), Errc::kBadKind);
  }
}

TEST_F(ResponderTest, handle_hello__connection_ids) {
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.source_connection = 0; }),
            Errc::kUnknownConnection);
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.connection = kResponderConnection; }),
            Errc::kUnknownConnection);
}

TEST_F(ResponderTest, handle_hello__wrong_world) {
  EXPECT_EQ(error_of([](HandshakePacket& p) { ++p.world; }), Errc::kWrongWorld);
  EXPECT_EQ(error_of([](HandshakePacket& p) { --p.world; }), Errc::kWrongWorld);
}

TEST_F(ResponderTest, handle_hello__another_rank_is_meant) {
  EXPECT_EQ(error_of([](HandshakePacket& p) { ++p.target_rank; }), Errc::kUnknownPeer);
}

TEST_F(ResponderTest, handle_hello__sender_claims_our_own_rank) {
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.rank = kResponderRank; }), Errc::kUnknownPeer);
}

TEST_F(ResponderTest, handle_hello__packets_that_are_too_small) {
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.packet_bytes_max = kPacketBytesMin - 1; }),
            Errc::kBadLength);
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.packet_bytes_max = 0; }), Errc::kBadLength);
  EXPECT_EQ(error_of([](HandshakePacket& p) { p.packet_bytes_max = kPacketBytesMin; }), Errc::kOk);
}

TEST_F(ResponderTest, handle_hello__a_cookie_does_not_help_what_is_refused) {
  HandshakePacket hello = proven(hello_);
  ++hello.world;
  EXPECT_EQ(ask(hello).error(), Errc::kWrongWorld);
}

TEST_F(ResponderTest, handle_hello__version_is_judged_before_what_depends_on_it) {
  EXPECT_EQ(error_of([](HandshakePacket& p) {
              p.version_min = p.version_max = 200;
              p.world = 0;
              p.target_rank = 0;
              p.packet_bytes_max = 0;
            }),
            Errc::kBadVersion);
}

struct VersionCase {
  std::uint8_t theirs_min, theirs_max, ours_min, ours_max;
  std::uint8_t chosen;  // 0 = none
};

TEST_F(ResponderTest, handle_hello__version_ranges) {
  constexpr VersionCase kCases[] = {
      {1, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {1, 1, 1, 2, 1}, {1, 2, 1, 2, 2},     {2, 3, 1, 2, 2},
      {1, 9, 3, 5, 5}, {3, 5, 1, 9, 5}, {2, 2, 1, 1, 0}, {1, 1, 2, 2, 0},     {5, 9, 1, 4, 0},
      {0, 0, 1, 1, 0}, {0, 1, 1, 1, 1}, {2, 1, 1, 2, 0}, {255, 255, 1, 1, 0}, {0, 255, 1, 1, 1},
  };
  for (const VersionCase& c : kCases) {
    HandshakeContext context = context_;
    context.version_min = c.ours_min;
    context.version_max = c.ours_max;
    responder_ = Responder(context, entropy_);
    HandshakePacket hello = hello_;
    hello.version_min = c.theirs_min;
    hello.version_max = c.theirs_max;
    SCOPED_TRACE(::testing::Message()
                 << "[" << int{c.theirs_min} << "," << int{c.theirs_max} << "] meets ["
                 << int{c.ours_min} << "," << int{c.ours_max} << "]");
    if (c.chosen == 0) {
      EXPECT_EQ(ask(hello).error(), Errc::kBadVersion);
      continue;
    }
    const Result<Responder::Reply> reply = ask(proven(hello));
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply.value().packet->version_min, c.chosen);
    EXPECT_EQ(reply.value().packet->version_max, c.chosen);
    EXPECT_EQ(reply.value().established->version, c.chosen);
  }
}

TEST_F(ResponderTest, refusal__says_why_and_what_we_are) {
  const HandshakePacket refuse = responder_.refusal(hello_, Errc::kWrongWorld);
  EXPECT_EQ(refuse.kind, HandshakeKind::kRefuse);
  EXPECT_EQ(refuse.code, Errc::kWrongWorld);
  EXPECT_EQ(refuse.connection, kInitiatorConnection);
  EXPECT_EQ(refuse.source_connection, 0U);
  EXPECT_EQ(refuse.version_min, context_.version_min);
  EXPECT_EQ(refuse.version_max, context_.version_max);
  EXPECT_EQ(refuse.world, kWorld);
  EXPECT_EQ(refuse.rank, kResponderRank);
  EXPECT_EQ(refuse.target_rank, kInitiatorRank);
  EXPECT_EQ(refuse.nonce, HandshakePacket{}.nonce);
  EXPECT_EQ(refuse.cookie, Cookie{});
}

TEST(ResponderDeathTest, refusal__without_reason) {
  SeededEntropy entropy(1);
  const Responder responder(responder_context(), entropy);
  EXPECT_DEATH(static_cast<void>(responder.refusal({}, Errc::kOk)), "code");
}

// What a port scan, a stranger and a broken peer send: 10,000 datagrams of five kinds.
class Garbage {
 public:
  explicit Garbage(const HandshakePacket& hello) : hello_(hello) {
    stranger_.identity.job_key = test::job_key_of(99);
  }

  ByteSpan next(int index) {
    constexpr std::string_view kProbes[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-scan\r\n",
                                            "\x16\x03\x01\x02\x01\x03\x03", "\r\n"};
    switch (index % 5) {
      case 0: return noise(prng_.below(buffer_.size()));
      case 1: return text(kProbes[prng_.below(std::size(kProbes))]);
      case 2: {  // a genuine HELLO with one bit changed, or cut
        const ByteSpan genuine = hello(initiator_context().identity);
        const std::uint64_t bit = prng_.below(wire::kHandshakeBytes * 8);
        buffer_[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        return genuine.first(prng_.chance(500'000) ? genuine.size() : prng_.below(genuine.size()));
      }
      case 3:  // well-formed, by one without the key
        return hello(stranger_.identity);
      default: {  // the length and the start of a handshake, and noise
        hello(initiator_context().identity);
        noise(wire::kHandshakeBytes - 8, 8);
        return ByteSpan(buffer_).first(wire::kHandshakeBytes);
      }
    }
  }

 private:
  ByteSpan noise(std::size_t bytes, std::size_t at = 0) {
    for (std::size_t i = at; i < at + bytes; ++i) buffer_[i] = static_cast<std::byte>(prng_.next());
    return ByteSpan(buffer_).subspan(at, bytes);
  }
  ByteSpan text(std::string_view probe) {
    std::memcpy(buffer_.data(), probe.data(), probe.size());
    return ByteSpan(buffer_).first(probe.size());
  }
  ByteSpan hello(const Identity& identity) {
    EXPECT_TRUE(encode_and_tag(identity, hello_, buffer_).ok());
    return ByteSpan(buffer_).first(wire::kHandshakeBytes);
  }

  Prng prng_{6};
  HandshakePacket hello_;
  HandshakeContext stranger_ = initiator_context();
  std::array<std::byte, 1'500> buffer_{};
};

// What a responder could remember of a stranger it would have to keep in itself, and it cannot:
// it owns no memory, and answering is const.
static_assert(std::is_trivially_copyable_v<Responder>);
static_assert(sizeof(Responder) <= 512);

TEST_F(ResponderTest, garbage_of_10000_datagrams_leaves_no_state) {
  Garbage garbage(hello_);
  for (int i = 0; i < 10'000; ++i) {
    HandshakePacket packet;
    EXPECT_FALSE(check_and_decode(context_.identity, garbage.next(i), packet).ok()) << i;
  }
}

TEST_F(ResponderTest, hellos_of_10000_addresses_leave_no_state) {
  const Responder& responder = responder_;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    HandshakePacket hello = hello_;
    hello.source_connection += i;
    Address from = from_;
    std::memcpy(from.bytes.data() + 8, &i, sizeof i);
    EXPECT_TRUE(
        is_retry(responder.handle_hello(kStart, from, hello, kResponderConnection, entropy_)));
  }
}

}  // namespace
}  // namespace zhinu::core

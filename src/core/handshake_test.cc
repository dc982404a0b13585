// Tags of handshake packets, and both roles against each other over bytes.
#include "core/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::address_of;
using test::context_of;
using test::first_hello;
using test::initiator_context;
using test::job_key_of;
using test::kInitiatorConnection;
using test::kInitiatorRank;
using test::kResponderConnection;
using test::kResponderRank;
using test::kStart;
using test::responder_context;
using test::sample_packet;
using test::SeededEntropy;
using wire::HandshakeKind;
using wire::HandshakePacket;
using Bytes = std::array<std::byte, wire::kHandshakeBytes>;

constexpr std::array kModes = {SealMode::kNone, SealMode::kCrc32c, SealMode::kGmac};

Bytes tagged(const Identity& identity, const HandshakePacket& packet) {
  Bytes bytes{};
  EXPECT_TRUE(encode_and_tag(identity, packet, bytes).ok());
  return bytes;
}

Errc error_of(const Identity& identity, ByteSpan datagram) {
  HandshakePacket packet;
  return check_and_decode(identity, datagram, packet).error();
}

TEST(HandshakeTag, check_and_decode__what_encode_and_tag_made) {
  for (const SealMode mode : kModes) {
    const HandshakeContext context = context_of(kInitiatorRank, mode);
    const HandshakePacket hello = first_hello(context);
    HandshakePacket decoded;
    ASSERT_TRUE(check_and_decode(context.identity, tagged(context.identity, hello), decoded).ok());
    EXPECT_EQ(decoded.kind, hello.kind);
    EXPECT_EQ(decoded.source_connection, hello.source_connection);
    EXPECT_EQ(decoded.nonce, hello.nonce);
    EXPECT_EQ(decoded.target_rank, hello.target_rank);
  }
}

TEST(HandshakeTag, check_and_decode__every_flipped_bit) {
  for (const SealMode mode : {SealMode::kCrc32c, SealMode::kGmac}) {
    const HandshakeContext context = context_of(kInitiatorRank, mode);
    const Bytes genuine = tagged(context.identity, first_hello(context));
    for (std::size_t bit = 0; bit < genuine.size() * 8; ++bit) {
      Bytes forged = genuine;
      forged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_NE(error_of(context.identity, forged), Errc::kOk) << "bit " << bit;
    }
  }
}

TEST(HandshakeTag, check_and_decode__another_key) {
  const Bytes hello = tagged(initiator_context().identity, first_hello(initiator_context()));
  Identity stranger = responder_context().identity;
  stranger.job_key = job_key_of(2);
  EXPECT_EQ(error_of(stranger, hello), Errc::kBadTag);
  stranger = responder_context().identity;
  stranger.job_key.back() ^= std::byte{1};
  EXPECT_EQ(error_of(stranger, hello), Errc::kBadTag);
}

TEST(HandshakeTag, check_and_decode__world_and_rank_are_not_in_the_key) {
  // Else a peer of another world could not be told why it is refused.
  Identity other = responder_context().identity;
  ++other.world;
  ++other.rank;
  const Bytes hello = tagged(initiator_context().identity, first_hello(initiator_context()));
  EXPECT_EQ(error_of(other, hello), Errc::kOk);
}

TEST(HandshakeTag, check_and_decode__modes_that_differ) {
  for (const SealMode ours : kModes) {
    for (const SealMode theirs : kModes) {
      const HandshakeContext context = context_of(kInitiatorRank, theirs);
      const Errc error = error_of(context_of(kResponderRank, ours).identity,
                                  tagged(context.identity, first_hello(context)));
      EXPECT_EQ(error, ours == theirs ? Errc::kOk : Errc::kBadTag);
    }
  }
}

TEST(HandshakeTag, check_and_decode__wrong_sizes) {
  const Identity identity = initiator_context().identity;
  const Bytes hello = tagged(identity, first_hello(initiator_context()));
  for (std::size_t bytes = 0; bytes < hello.size(); ++bytes) {
    EXPECT_EQ(error_of(identity, ByteSpan(hello).first(bytes)), Errc::kTruncatedPacket) << bytes;
  }
  std::vector<std::byte> longer(hello.begin(), hello.end());
  longer.push_back(std::byte{0});
  EXPECT_EQ(error_of(identity, longer), Errc::kBadLength);
}

TEST(HandshakeTag, check_and_decode__forged_leaves_the_output_alone) {
  const Identity identity = initiator_context().identity;
  Bytes forged = tagged(identity, first_hello(initiator_context()));
  forged.back() ^= std::byte{1};
  HandshakePacket out;
  out.rank = 4'711;
  EXPECT_EQ(check_and_decode(identity, forged, out).error(), Errc::kBadTag);
  EXPECT_EQ(out.rank, 4'711U);
}

TEST(HandshakeTag, encode_and_tag__no_room) {
  const Identity identity = initiator_context().identity;
  std::array<std::byte, wire::kHandshakeBytes - 1> small{};
  EXPECT_EQ(encode_and_tag(identity, first_hello(initiator_context()), small).error(),
            Errc::kBadLength);
}

TEST(HandshakeTag, encode_and_tag__packet_that_cannot_be_written) {
  Bytes bytes{};
  HandshakePacket refuse;
  refuse.kind = HandshakeKind::kRefuse;
  EXPECT_EQ(encode_and_tag(initiator_context().identity, refuse, bytes).error(),
            Errc::kInvalidArgument);
}

// An initiator and a responder, and what an endpoint does around them: it answers a repeated
// HELLO with the WELCOME that it stored.
class Meeting {
 public:
  Meeting(const HandshakeContext& initiator, const HandshakeContext& responder,
          std::uint64_t seed = 1)
      : entropy_(seed),
        initiator_context_(initiator),
        responder_context_(responder),
        initiator_(kStart, initiator, kResponderRank, kInitiatorConnection, entropy_),
        responder_(responder, entropy_) {}

  std::optional<Bytes> poll(Instant now) {
    const std::optional<HandshakePacket> hello = initiator_.poll_transmit(now);
    if (!hello.has_value()) return std::nullopt;
    return tagged(initiator_context_.identity, *hello);
  }

  std::optional<Bytes> to_responder(Instant now, const Bytes& datagram) {
    HandshakePacket hello;
    const Status status = check_and_decode(responder_context_.identity, datagram, hello);
    if (!status.ok()) {
      responder_error = status.error();
      return std::nullopt;
    }
    if (welcome_.has_value() && hello.source_connection == responder_side->remote_connection) {
      return tagged(responder_context_.identity, *welcome_);
    }
    Result<Responder::Reply> reply =
        responder_.handle_hello(now, address_of(1), hello, kResponderConnection, entropy_);
    if (!reply.ok()) {
      responder_error = reply.error();
      return tagged(responder_context_.identity, responder_.refusal(hello, reply.error()));
    }
    if (reply.value().established.has_value()) {
      responder_side = std::move(reply.value().established);
      welcome_ = reply.value().packet;
    }
    return tagged(responder_context_.identity, *reply.value().packet);
  }

  void to_initiator(Instant now, const Bytes& datagram) {
    HandshakePacket packet;
    const Status status = check_and_decode(initiator_context_.identity, datagram, packet);
    if (!status.ok()) {
      initiator_error = status.error();
      return;
    }
    Result<std::optional<Established>> result = initiator_.handle(now, packet);
    if (!result.ok()) {
      initiator_error = result.error();
    } else if (result.value().has_value()) {
      initiator_side = std::move(result.value());
    }
  }

  // Both directions at once, nothing lost, until nobody has anything to say.
  void run(Instant now) {
    while (const std::optional<Bytes> hello = poll(now)) {
      if (const std::optional<Bytes> answer = to_responder(now, *hello)) to_initiator(now, *answer);
    }
  }

  Instant timeout() const { return initiator_.timeout(); }

  std::optional<Established> initiator_side;
  std::optional<Established> responder_side;
  Errc initiator_error = Errc::kOk;
  Errc responder_error = Errc::kOk;

 private:
  SeededEntropy entropy_;
  HandshakeContext initiator_context_;
  HandshakeContext responder_context_;
  Initiator initiator_;
  Responder responder_;
  std::optional<HandshakePacket> welcome_;
};

void expect_packets_open(Established& from, Established& to, std::uint64_t number) {
  std::vector<std::byte> packet = sample_packet(100);
  const bool key_phase = from.sealer.phase_to_send(kStart);
  from.sealer.seal(packet, {}, 0, number, key_phase);
  EXPECT_TRUE(to.sealer.open(kStart, packet, 0, number, key_phase));
}

void expect_met(Meeting& meeting) {
  ASSERT_TRUE(meeting.initiator_side.has_value());
  ASSERT_TRUE(meeting.responder_side.has_value());
  Established& a = *meeting.initiator_side;
  Established& b = *meeting.responder_side;
  EXPECT_EQ(a.local_connection, b.remote_connection);
  EXPECT_EQ(b.local_connection, a.remote_connection);
  EXPECT_EQ(a.rank, kResponderRank);
  EXPECT_EQ(b.rank, kInitiatorRank);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.packet_bytes_max, b.packet_bytes_max);
  EXPECT_EQ(a.eager_bytes_max, b.eager_bytes_max);
  expect_packets_open(a, b, 1);
  expect_packets_open(b, a, 1);
}

TEST(Handshake, both_meet_in_every_mode) {
  for (const SealMode mode : kModes) {
    Meeting meeting(context_of(kInitiatorRank, mode), context_of(kResponderRank, mode));
    meeting.run(kStart);
    expect_met(meeting);
    EXPECT_EQ(meeting.initiator_side->sealer.mode(), mode);
    EXPECT_EQ(meeting.responder_side->sealer.mode(), mode);
    EXPECT_EQ(meeting.initiator_error, Errc::kOk);
    EXPECT_EQ(meeting.responder_error, Errc::kOk);
  }
}

TEST(Handshake, terms_of_both_sides) {
  HandshakeContext initiator = initiator_context();
  HandshakeContext responder = responder_context();
  initiator.path_count = 3;
  initiator.packet_bytes_max = 1'500;
  responder.path_count = 8;
  responder.eager_bytes_max = 1'024;
  Meeting meeting(initiator, responder);
  meeting.run(kStart);
  expect_met(meeting);
  EXPECT_EQ(meeting.initiator_side->path_count, 8);
  EXPECT_EQ(meeting.responder_side->path_count, 3);
  EXPECT_EQ(meeting.initiator_side->packet_bytes_max, 1'500U);
  EXPECT_EQ(meeting.responder_side->eager_bytes_max, 1'024U);
  EXPECT_EQ(meeting.initiator_side->incarnation, responder.identity.incarnation);
  EXPECT_EQ(meeting.responder_side->incarnation, initiator.identity.incarnation);
}

TEST(Handshake, strangers_get_no_answer) {
  HandshakeContext stranger = initiator_context();
  stranger.identity.job_key = job_key_of(2);
  Meeting meeting(stranger, responder_context());
  const std::optional<Bytes> hello = meeting.poll(kStart);
  EXPECT_FALSE(meeting.to_responder(kStart, *hello).has_value());
  EXPECT_EQ(meeting.responder_error, Errc::kBadTag);
}

struct Versions {
  std::uint8_t initiator_min, initiator_max, responder_min, responder_max;
};

Meeting meeting_of(const Versions& versions) {
  HandshakeContext initiator = initiator_context();
  initiator.version_min = versions.initiator_min;
  initiator.version_max = versions.initiator_max;
  HandshakeContext responder = responder_context();
  responder.version_min = versions.responder_min;
  responder.version_max = versions.responder_max;
  return Meeting(initiator, responder);
}

TEST(Handshake, version_n_meets_n_minus_1_whoever_starts) {
  for (const Versions& versions : {Versions{1, 2, 1, 1}, Versions{1, 1, 1, 2}}) {
    Meeting meeting = meeting_of(versions);
    meeting.run(kStart);
    expect_met(meeting);
    EXPECT_EQ(meeting.initiator_side->version, 1);
  }
}

TEST(Handshake, both_speak_n) {
  Meeting meeting = meeting_of({1, 2, 1, 2});
  meeting.run(kStart);
  expect_met(meeting);
  EXPECT_EQ(meeting.initiator_side->version, 2);
}

TEST(Handshake, no_common_version_is_told_to_the_initiator) {
  for (const Versions& versions : {Versions{2, 2, 1, 1}, Versions{1, 1, 2, 2}}) {
    Meeting meeting = meeting_of(versions);
    meeting.run(kStart);
    EXPECT_EQ(meeting.responder_error, Errc::kBadVersion);
    EXPECT_EQ(meeting.initiator_error, Errc::kBadVersion);
    EXPECT_FALSE(meeting.initiator_side.has_value());
    EXPECT_FALSE(meeting.responder_side.has_value());
  }
}

TEST(Handshake, wrong_world_is_told_to_the_initiator) {
  HandshakeContext initiator = initiator_context();
  ++initiator.identity.world;
  Meeting meeting(initiator, responder_context());
  meeting.run(kStart);
  EXPECT_EQ(meeting.responder_error, Errc::kWrongWorld);
  EXPECT_EQ(meeting.initiator_error, Errc::kWrongWorld);
}

TEST(Handshake, wrong_rank_is_told_to_the_initiator) {
  Meeting meeting(initiator_context(), context_of(kResponderRank + 1));
  meeting.run(kStart);
  EXPECT_EQ(meeting.responder_error, Errc::kUnknownPeer);
  EXPECT_EQ(meeting.initiator_error, Errc::kUnknownPeer);
}

TEST(Handshake, packets_that_are_too_small_are_told_to_the_initiator) {
  HandshakeContext initiator = initiator_context();
  initiator.packet_bytes_max = kPacketBytesMin - 1;
  Meeting meeting(initiator, responder_context());
  meeting.run(kStart);
  EXPECT_EQ(meeting.initiator_error, Errc::kBadLength);
}

TEST(Handshake, any_one_packet_may_be_lost) {
  for (int lost = 0; lost < 4; ++lost) {
    Meeting meeting(initiator_context(), responder_context());
    int index = 0;
    Instant now = kStart;
    while (!meeting.initiator_side.has_value() && now - kStart < seconds(2)) {
      while (const std::optional<Bytes> hello = meeting.poll(now)) {
        if (index++ == lost) continue;
        const std::optional<Bytes> answer = meeting.to_responder(now, *hello);
        if (index++ == lost || !answer.has_value()) continue;
        meeting.to_initiator(now, *answer);
      }
      now = std::min(meeting.timeout(), now + seconds(1));
    }
    SCOPED_TRACE(lost);
    expect_met(meeting);
    EXPECT_LT(now - kStart, seconds(2));
  }
}

TEST(Handshake, repeated_hello_does_not_change_the_keys) {
  Meeting meeting(initiator_context(), responder_context());
  const Bytes hello = *meeting.poll(kStart);
  meeting.to_initiator(kStart, *meeting.to_responder(kStart, hello));
  const Bytes with_cookie = *meeting.poll(kStart);
  const std::optional<Bytes> welcome = meeting.to_responder(kStart, with_cookie);
  EXPECT_EQ(meeting.to_responder(kStart, with_cookie), welcome);
  meeting.to_initiator(kStart, *welcome);
  EXPECT_EQ(meeting.to_responder(kStart, with_cookie), welcome);
  expect_met(meeting);
}

// An attacker on the path recorded a whole handshake and plays it to both again.
TEST(Handshake, recorded_handshake_opens_nothing) {
  Meeting recorded(initiator_context(), responder_context(), 1);
  const Bytes hello = *recorded.poll(kStart);
  const Bytes retry = *recorded.to_responder(kStart, hello);
  recorded.to_initiator(kStart, retry);
  const Bytes with_cookie = *recorded.poll(kStart);
  const Bytes welcome = *recorded.to_responder(kStart, with_cookie);

  // Another process with the same key, rank and even incarnation: its cookie secret differs.
  Meeting next(initiator_context(), responder_context(), 2);
  next.to_responder(kStart, with_cookie);
  EXPECT_FALSE(next.responder_side.has_value());
  // The same process after the cookie expired.
  Meeting later(initiator_context(), responder_context(), 1);
  later.to_responder(kStart + seconds(60), with_cookie);
  EXPECT_FALSE(later.responder_side.has_value());

  // To an initiator that uses another connection id, all answers are another's.
  SeededEntropy entropy(3);
  Initiator other(kStart, initiator_context(), kResponderRank, kInitiatorConnection + 1, entropy);
  for (const Bytes& answer : {retry, welcome}) {
    HandshakePacket packet;
    ASSERT_TRUE(check_and_decode(initiator_context().identity, answer, packet).ok());
    EXPECT_EQ(other.handle(kStart, packet).error(), Errc::kUnknownConnection);
  }
}

TEST(Handshake, reflected_hello_is_not_for_its_sender) {
  const HandshakePacket hello = first_hello(initiator_context());
  SeededEntropy entropy(1);
  const Responder own(initiator_context(), entropy);
  EXPECT_EQ(own.handle_hello(kStart, address_of(1), hello, 99, entropy).error(),
            Errc::kUnknownPeer);
}

TEST(Handshake, two_connections_of_one_pair_do_not_share_keys) {
  Meeting first(initiator_context(), responder_context(), 1);
  Meeting second(initiator_context(), responder_context(), 2);
  first.run(kStart);
  second.run(kStart);
  expect_met(first);
  expect_met(second);
  std::vector<std::byte> packet = sample_packet(100);
  first.initiator_side->sealer.seal(packet, {}, 0, 5, false);
  EXPECT_FALSE(second.responder_side->sealer.open(kStart, packet, 0, 5, false));
  EXPECT_TRUE(first.responder_side->sealer.open(kStart, packet, 0, 5, false));
}

// Loss, delay, duplication and corruption from one seed; both must meet all the same.
class HandshakeNetwork : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  struct Flight {
    Instant arrives;
    bool to_responder = false;
    Bytes bytes{};
  };

  void send(Instant now, bool to_responder, const Bytes& bytes) {
    const std::uint64_t copies = prng_.chance(100'000) ? 2 : 1;
    for (std::uint64_t i = 0; i < copies; ++i) {
      if (prng_.chance(300'000)) continue;
      Flight flight{now + Duration{static_cast<std::int64_t>(prng_.below(5'000'000))}, to_responder,
                    bytes};
      if (prng_.chance(100'000)) {
        flight.bytes[prng_.below(bytes.size())] ^= static_cast<std::byte>(prng_.between(1, 255));
      }
      flights_.push_back(flight);
    }
  }
  void step(Meeting& meeting, Instant now) {
    while (const std::optional<Bytes> hello = meeting.poll(now)) send(now, true, *hello);
    const std::vector<Flight> flights = std::exchange(flights_, {});
    for (const Flight& flight : flights) {
      if (flight.arrives > now) {
        flights_.push_back(flight);
      } else if (!flight.to_responder) {
        meeting.to_initiator(now, flight.bytes);
      } else if (const auto answer = meeting.to_responder(now, flight.bytes)) {
        send(now, false, *answer);
      }
    }
  }

  Prng prng_{GetParam()};
  std::vector<Flight> flights_;
};

TEST_P(HandshakeNetwork, both_meet_through_loss_delay_copies_and_corruption) {
  Meeting meeting(initiator_context(), responder_context(), GetParam());
  Instant now = kStart;
  while (!meeting.initiator_side.has_value() && now - kStart < seconds(30)) {
    step(meeting, now);
    now = now + microseconds(500);
  }
  expect_met(meeting);
}

// The seed in the name of the test replays it.
INSTANTIATE_TEST_SUITE_P(Seeds, HandshakeNetwork, ::testing::Range<std::uint64_t>(1, 33));

}  // namespace
}  // namespace zhinu::core

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "base/prng.h"
#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::from_hex;
using test::to_hex;

HandshakePacket sample() {
  HandshakePacket packet;
  packet.kind = HandshakeKind::kHello;
  packet.version_min = 2;
  packet.version_max = 5;
  packet.path_count = 16;
  packet.connection = 0x0102'0304'0506'0708;
  packet.source_connection = 0x1112'1314'1516'1718;
  packet.world = 0x2122'2324'2526'2728;
  packet.incarnation = 0x3132'3334'3536'3738;
  packet.rank = 0x4142'4344;
  packet.target_rank = 0x5152'5354;
  packet.packet_bytes_max = 0x6162'6364;
  packet.eager_bytes_max = 0x7172'7374;
  for (std::size_t i = 0; i < kHandshakeNonceBytes; ++i) {
    packet.nonce[i] = static_cast<std::byte>(0x80 + i);
    packet.cookie[i] = static_cast<std::byte>(0xc0 + i);
  }
  return packet;
}

// Written by hand from docs/wire-format.md.
std::string sample_bytes() {
  return "4101d000"
         "5a484e55"
         "02051000"
         "00000000"
         "0807060504030201"
         "1817161514131211"
         "2827262524232221"
         "3837363534333231"
         "44434241"
         "54535251"
         "64636261"
         "74737271"
         "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
         "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf" +
         std::string(2 * (64 + kTagBytes), '0');
}

std::vector<std::byte> encoded(const HandshakePacket& packet) {
  std::vector<std::byte> out(kHandshakeBytes, std::byte{0xff});
  EXPECT_TRUE(encode_handshake(packet, out).ok());
  return out;
}

Errc encode_error(const HandshakePacket& packet) {
  std::vector<std::byte> out(kHandshakeBytes);
  return encode_handshake(packet, out).error();
}

Errc decode_error(ByteSpan bytes) {
  HandshakePacket packet;
  return decode_handshake(bytes, packet).error();
}

void expect_equal(const HandshakePacket& left, const HandshakePacket& right) {
  EXPECT_EQ(left.kind, right.kind);
  EXPECT_EQ(left.version_min, right.version_min);
  EXPECT_EQ(left.version_max, right.version_max);
  EXPECT_EQ(left.path_count, right.path_count);
  EXPECT_EQ(left.code, right.code);
  EXPECT_EQ(left.connection, right.connection);
  EXPECT_EQ(left.source_connection, right.source_connection);
  EXPECT_EQ(left.world, right.world);
  EXPECT_EQ(left.incarnation, right.incarnation);
  EXPECT_EQ(left.rank, right.rank);
  EXPECT_EQ(left.target_rank, right.target_rank);
  EXPECT_EQ(left.packet_bytes_max, right.packet_bytes_max);
  EXPECT_EQ(left.eager_bytes_max, right.eager_bytes_max);
  EXPECT_EQ(left.nonce, right.nonce);
  EXPECT_EQ(left.cookie, right.cookie);
}

TEST(Handshake, encode_handshake__documented_bytes) {
  EXPECT_EQ(to_hex(encoded(sample())), sample_bytes());
}

TEST(Handshake, encode_handshake__refusal) {
  HandshakePacket packet = sample();
  packet.kind = HandshakeKind::kRefuse;
  packet.code = Errc::kBadVersion;
  const std::string text = to_hex(encoded(packet));
  EXPECT_EQ(text.substr(0, 2), "44");
  EXPECT_EQ(text.substr(24, 8), "34000000");
}

TEST(Handshake, encode_handshake__buffer_too_small) {
  std::vector<std::byte> out(kHandshakeBytes);
  for (std::size_t size = 0; size < kHandshakeBytes; ++size) {
    EXPECT_EQ(encode_handshake(sample(), MutableByteSpan(out).first(size)).error(),
              Errc::kBadLength);
  }
}

TEST(Handshake, encode_handshake__bytes_behind_are_not_touched) {
  std::vector<std::byte> out(kHandshakeBytes + 1, std::byte{0xff});
  ASSERT_TRUE(encode_handshake(sample(), out).ok());
  EXPECT_EQ(out[kHandshakeBytes], std::byte{0xff});
}

TEST(Handshake, encode_handshake__unknown_kind) {
  HandshakePacket packet = sample();
  for (const unsigned kind : {0U, 5U, 63U, 64U, 255U}) {
    packet.kind = static_cast<HandshakeKind>(kind);
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument) << kind;
  }
}

TEST(Handshake, encode_handshake__code_belongs_to_a_refusal) {
  for (const HandshakeKind kind :
       {HandshakeKind::kHello, HandshakeKind::kRetry, HandshakeKind::kWelcome}) {
    HandshakePacket packet = sample();
    packet.kind = kind;
    EXPECT_EQ(encode_error(packet), Errc::kOk);
    packet.code = Errc::kWrongWorld;
    EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
  }
  HandshakePacket packet = sample();
  packet.kind = HandshakeKind::kRefuse;
  EXPECT_EQ(encode_error(packet), Errc::kInvalidArgument);
}

TEST(Handshake, decode_handshake__documented_bytes) {
  HandshakePacket packet;
  ASSERT_TRUE(decode_handshake(from_hex(sample_bytes()), packet).ok());
  expect_equal(packet, sample());
}

TEST(Handshake, decode_handshake__every_kind) {
  for (unsigned kind = 0; kind < 256; ++kind) {
    HandshakePacket packet = sample();
    std::vector<std::byte> bytes = encoded(packet);
    bytes[0] = static_cast<std::byte>(kind);
    if (kind == 0x44) bytes[12] = std::byte{52};
    EXPECT_EQ(decode_error(bytes), kind >= 0x41 && kind <= 0x44 ? Errc::kOk : Errc::kBadKind)
        << kind;
  }
}

TEST(Handshake, decode_handshake__every_truncation) {
  const std::vector<std::byte> bytes = encoded(sample());
  for (std::size_t size = 0; size < kHandshakeBytes; ++size) {
    EXPECT_EQ(decode_error(ByteSpan(bytes).first(size)), Errc::kTruncatedPacket) << size;
  }
}

TEST(Handshake, decode_handshake__a_byte_too_many) {
  std::vector<std::byte> bytes = encoded(sample());
  bytes.push_back(std::byte{0});
  EXPECT_EQ(decode_error(bytes), Errc::kBadLength);
}

TEST(Handshake, decode_handshake__stated_length) {
  for (const unsigned length : {0U, 207U, 209U, 0xffffU}) {
    std::vector<std::byte> bytes = encoded(sample());
    store_le(bytes.data() + 2, static_cast<std::uint16_t>(length));
    EXPECT_EQ(decode_error(bytes), Errc::kBadLength) << length;
  }
}

TEST(Handshake, decode_handshake__every_other_layout_revision) {
  for (unsigned revision = 0; revision < 256; ++revision) {
    std::vector<std::byte> bytes = encoded(sample());
    bytes[1] = static_cast<std::byte>(revision);
    EXPECT_EQ(decode_error(bytes), revision == 1 ? Errc::kOk : Errc::kBadVersion) << revision;
  }
}

TEST(Handshake, decode_handshake__every_bit_of_the_magic_number) {
  for (std::size_t bit = 4 * 8; bit < 8 * 8; ++bit) {
    std::vector<std::byte> bytes = encoded(sample());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(decode_error(bytes), Errc::kBadKind) << bit;
  }
}

TEST(Handshake, decode_handshake__every_reserved_bit) {
  const auto refused_from_to = [](std::size_t from, std::size_t to) {
    for (std::size_t bit = from * 8; bit < to * 8; ++bit) {
      std::vector<std::byte> bytes = encoded(sample());
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_EQ(decode_error(bytes), Errc::kBadFrame) << bit;
    }
  };
  refused_from_to(11, 12);
  refused_from_to(14, 16);
  refused_from_to(128, 192);
}

TEST(Handshake, decode_handshake__code_belongs_to_a_refusal) {
  std::vector<std::byte> bytes = encoded(sample());
  bytes[12] = std::byte{52};
  EXPECT_EQ(decode_error(bytes), Errc::kBadFrame);
  bytes[0] = std::byte{0x44};
  EXPECT_EQ(decode_error(bytes), Errc::kOk);
  bytes[12] = std::byte{0};
  EXPECT_EQ(decode_error(bytes), Errc::kBadFrame);
}

TEST(Handshake, decode_handshake__versions_are_for_the_caller_to_judge) {
  std::vector<std::byte> bytes = encoded(sample());
  bytes[8] = std::byte{255};
  bytes[9] = std::byte{0};
  HandshakePacket packet;
  ASSERT_TRUE(decode_handshake(bytes, packet).ok());
  EXPECT_EQ(packet.version_min, 255);
  EXPECT_EQ(packet.version_max, 0);
}

TEST(Handshake, decode_handshake__the_tag_is_for_the_caller_to_check) {
  std::vector<std::byte> bytes = encoded(sample());
  for (std::size_t i = kHandshakeBytes - kTagBytes; i < kHandshakeBytes; ++i) {
    bytes[i] = std::byte{0xff};
  }
  EXPECT_EQ(decode_error(bytes), Errc::kOk);
}

TEST(Handshake, decode_handshake__leaves_its_argument_after_an_error) {
  HandshakePacket packet = sample();
  EXPECT_FALSE(decode_handshake({}, packet).ok());
  expect_equal(packet, sample());
}

TEST(Handshake, decode_handshake__no_bit_before_the_tag_is_ignored) {
  const std::vector<std::byte> bytes = encoded(sample());
  for (std::size_t bit = 0; bit < (kHandshakeBytes - kTagBytes) * 8; ++bit) {
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    HandshakePacket packet;
    if (!decode_handshake(flipped, packet).ok()) continue;
    EXPECT_EQ(to_hex(encoded(packet)), to_hex(flipped)) << bit;
  }
}

TEST(Handshake, is_handshake__what_encode_handshake_writes) {
  EXPECT_TRUE(is_handshake(encoded(sample())));
}

TEST(HandshakeProperty, random_packets_come_back) {
  EXPECT_TRUE(rc::check("a handshake survives encode and decode", [](std::uint64_t seed) {
    Prng prng(seed);
    HandshakePacket packet = sample();
    packet.kind = static_cast<HandshakeKind>(prng.between(1, 4));
    if (packet.kind == HandshakeKind::kRefuse) packet.code = static_cast<Errc>(1 + prng.below(90));
    packet.version_min = static_cast<std::uint8_t>(prng.next());
    packet.version_max = static_cast<std::uint8_t>(prng.next());
    packet.path_count = static_cast<std::uint8_t>(prng.next());
    packet.connection = prng.next();
    packet.incarnation = prng.next();
    packet.rank = static_cast<std::uint32_t>(prng.next());
    for (std::byte& byte : packet.cookie) byte = static_cast<std::byte>(prng.next());
    HandshakePacket decoded;
    RC_ASSERT(decode_handshake(encoded(packet), decoded).ok());
    expect_equal(decoded, packet);
  }));
}

TEST(HandshakeProperty, random_bytes_are_refused_or_come_back) {
  EXPECT_TRUE(rc::check("a mutated handshake is refused or canonical", [](std::uint64_t seed) {
    Prng prng(seed);
    std::vector<std::byte> bytes = encoded(sample());
    for (std::uint64_t i = prng.below(6); i > 0; --i) {
      bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.next());
    }
    bytes.resize(kHandshakeBytes - prng.below(2));
    HandshakePacket decoded;
    if (!decode_handshake(bytes, decoded).ok()) return;
    std::vector<std::byte> again = encoded(decoded);
    std::copy(bytes.end() - kTagBytes, bytes.end(), again.end() - kTagBytes);
    RC_ASSERT(to_hex(again) == to_hex(bytes));
  }));
}

}  // namespace
}  // namespace zhinu::wire

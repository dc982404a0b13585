// Properties of the codec over random packets and random bytes. A failure prints the
// seed; RC_PARAMS="seed=..." runs it again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "wire/packet_tools_test.h"
#include "wire/samples_test.h"

namespace zhinu::wire {
namespace {

using test::as_decoded;
using test::decode;
using test::difference;
using test::to_hex;

constexpr std::size_t kFramesOfRandomPacket = 40;  // most packets fit kPacketBytesMax

// True if `body` holds for some thousands of random draws.
template <class Body>
bool holds(const char* what, Body body) {
  return rc::check(what, [&body](std::uint64_t seed) {
    Prng prng(seed);
    for (int i = 0; i < 50; ++i) body(prng);
  });
}

// Decodes `bytes`; if they are accepted, encoding again must give the same bytes but
// for the tag, which the codec does not own.
void expect_refused_or_canonical(const std::vector<std::byte>& bytes) {
  Packet decoded;
  if (decode(bytes, decoded) != Errc::kOk) return;
  test::expand_packet(decoded);
  std::vector<std::byte> again = test::encoded(decoded);
  std::vector<std::byte> packet(bytes.begin(),
                                bytes.begin() + static_cast<std::ptrdiff_t>(again.size()));
  std::fill_n(packet.begin() + kTagOffset, kTagBytes, std::byte{0});
  RC_ASSERT(to_hex(again) == to_hex(packet));
}

TEST(PacketProperty, random_packets_come_back) {
  EXPECT_TRUE(holds("a packet survives encode and decode", [](Prng& prng) {
    const Packet packet = test::random_packet(prng, kFramesOfRandomPacket);
    const std::vector<std::byte> bytes = test::encoded(packet);
    Packet decoded;
    RC_ASSERT(decode(bytes, decoded) == Errc::kOk);
    RC_ASSERT(difference(decoded, as_decoded(packet)) == "");
  }));
}

TEST(PacketProperty, gathering_changes_no_byte) {
  EXPECT_TRUE(holds("head and tail are the copied packet", [](Prng& prng) {
    const Packet packet = test::random_packet(prng, kFramesOfRandomPacket);
    std::vector<std::byte> out(kPacketBytesMax);
    const auto result = encode(packet, out, prng.below(100));
    RC_ASSERT(result.ok());
    out.resize(result.value().head_bytes);
    const ByteSpan tail = result.value().tail;
    out.insert(out.end(), tail.begin(), tail.end());
    RC_ASSERT(to_hex(out) == to_hex(test::encoded(packet)));
  }));
}

TEST(PacketProperty, packets_take_the_bytes_that_frame_bytes_says) {
  EXPECT_TRUE(holds("sizes add up", [](Prng& prng) {
    const Packet packet = test::random_packet(prng, kFramesOfRandomPacket);
    std::size_t bytes = kFramesOffset;
    for (std::uint32_t i = 0; i < packet.frame_count; ++i) {
      const Frame& frame = packet.frames[i];
      bytes += frame_bytes(frame) + (has_payload(frame.kind) ? frame.length : 0);
    }
    RC_ASSERT(test::encoded(packet).size() == bytes);
  }));
}

TEST(PacketProperty, truncated_packets_are_refused) {
  EXPECT_TRUE(holds("no prefix is a packet", [](Prng& prng) {
    std::vector<std::byte> bytes = test::encoded(test::random_packet(prng, 4));
    bytes.resize(prng.below(bytes.size()));
    Packet decoded;
    RC_ASSERT(decode(bytes, decoded) == Errc::kTruncatedPacket);
  }));
}

TEST(PacketProperty, changed_packets_are_refused_or_canonical) {
  EXPECT_TRUE(holds("no change is ignored", [](Prng& prng) {
    std::vector<std::byte> bytes = test::encoded(test::random_packet(prng, 8));
    for (std::uint64_t i = prng.between(1, 8); i > 0; --i) {
      bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.next());
    }
    expect_refused_or_canonical(bytes);
  }));
}

TEST(PacketProperty, cut_packets_with_a_fitting_length_are_refused_or_canonical) {
  EXPECT_TRUE(holds("a frame that is cut off is noticed", [](Prng& prng) {
    std::vector<std::byte> bytes = test::encoded(test::random_packet(prng, 8));
    bytes.resize(prng.between(kFramesOffset, bytes.size()));
    store_le(bytes.data() + 2, static_cast<std::uint16_t>(bytes.size()));
    expect_refused_or_canonical(bytes);
  }));
}

TEST(PacketProperty, random_bytes_are_refused_or_canonical) {
  EXPECT_TRUE(holds("noise is harmless", [](Prng& prng) {
    std::vector<std::byte> bytes(kFramesOffset + 1 + prng.below(300));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(prng.chance(500'000) ? prng.next() : prng.below(32));
    }
    bytes[0] = static_cast<std::byte>(0x80 | prng.below(5));
    store_le(bytes.data() + 2, static_cast<std::uint16_t>(bytes.size()));
    expect_refused_or_canonical(bytes);
  }));
}

TEST(PacketProperty, expanded_numbers_are_the_ones_sent) {
  EXPECT_TRUE(holds("numbers within 2^31 of the expected one come back", [](Prng& prng) {
    const std::uint64_t number = prng.next() >> prng.below(64);
    const std::uint64_t distance = prng.below(std::uint64_t{1} << 31);
    const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t above = number <= max - distance ? number + distance : number;
    const std::uint64_t below = number - std::min(number, distance);
    const auto low = static_cast<std::uint32_t>(number);
    RC_ASSERT(expand_number(low, above) == number);
    RC_ASSERT(expand_number(low, below) == number);
  }));
}

}  // namespace
}  // namespace zhinu::wire

#include "core/seal.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/aead.h"
#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::kStart;
using test::sample_material;
using test::sample_packet;
using wire::kFramesOffset;
using wire::kTagBytes;
using wire::kTagOffset;

constexpr std::uint8_t kPath = 5;
constexpr std::uint64_t kNumber = 0x1'0000'0042;

struct Pair {
  explicit Pair(SealMode mode, const KeyMaterial& material = sample_material())
      : initiator(kStart, mode, material, true, {}), responder(kStart, mode, material, false, {}) {}

  Sealer initiator;
  Sealer responder;
};

std::vector<std::byte> sealed(Sealer& sealer, std::vector<std::byte> packet,
                              std::uint64_t number = kNumber) {
  sealer.seal(packet, {}, kPath, number, sealer.phase_to_send(kStart));
  return packet;
}

bool opens(Sealer& sealer, ByteSpan packet, std::uint8_t path = kPath,
           std::uint64_t number = kNumber, bool key_phase = false) {
  return sealer.open(kStart, packet, path, number, key_phase);
}

std::vector<std::byte> flipped(std::vector<std::byte> packet, std::size_t bit) {
  packet[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  return packet;
}

class SealerTest : public ::testing::TestWithParam<SealMode> {};

INSTANTIATE_TEST_SUITE_P(Modes, SealerTest,
                         ::testing::Values(SealMode::kNone, SealMode::kCrc32c, SealMode::kGmac),
                         [](const auto& param_info) {
                           switch (param_info.param) {
                             case SealMode::kNone: return "none";
                             case SealMode::kCrc32c: return "crc32c";
                             case SealMode::kGmac: return "gmac";
                           }
                           return "unknown";
                         });

TEST_P(SealerTest, open__what_the_peer_sealed_at_every_size) {
  Pair pair(GetParam());
  for (std::size_t bytes = kFramesOffset; bytes < kFramesOffset + 300; ++bytes) {
    EXPECT_TRUE(opens(pair.responder, sealed(pair.initiator, sample_packet(bytes)))) << bytes;
    EXPECT_TRUE(opens(pair.initiator, sealed(pair.responder, sample_packet(bytes)))) << bytes;
  }
  for (const std::size_t bytes : {1'280U, 8'972U, 65'507U}) {
    EXPECT_TRUE(opens(pair.responder, sealed(pair.initiator, sample_packet(bytes)))) << bytes;
  }
}

TEST_P(SealerTest, seal__gathered_is_the_same_as_whole) {
  Pair pair(GetParam());
  const std::vector<std::byte> whole = sealed(pair.initiator, sample_packet(500));
  for (const std::size_t head_bytes : {36U, 37U, 48U, 60U, 99U, 499U, 500U}) {
    std::vector<std::byte> packet = sample_packet(500);
    const MutableByteSpan span(packet);
    pair.initiator.seal(span.first(head_bytes), span.subspan(head_bytes), kPath, kNumber, false);
    EXPECT_EQ(packet, whole) << head_bytes;
  }
}

TEST_P(SealerTest, seal__writes_the_tag_and_nothing_else) {
  Pair pair(GetParam());
  const std::vector<std::byte> before = sample_packet(200);
  std::vector<std::byte> after = sealed(pair.initiator, before);
  EXPECT_NE(after, before);
  std::memcpy(after.data() + kTagOffset, before.data() + kTagOffset, kTagBytes);
  EXPECT_EQ(after, before);
}

TEST_P(SealerTest, seal__what_stood_in_the_tag_field_does_not_matter) {
  Pair pair(GetParam());
  std::vector<std::byte> packet = sample_packet(200);
  const std::vector<std::byte> first = sealed(pair.initiator, packet);
  std::memset(packet.data() + kTagOffset, 0xff, kTagBytes);
  EXPECT_EQ(sealed(pair.initiator, packet), first);
}

TEST_P(SealerTest, open__shorter_than_a_tag) {
  Pair pair(GetParam());
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  for (std::size_t bytes = 0; bytes < kFramesOffset; ++bytes) {
    EXPECT_FALSE(opens(pair.responder, ByteSpan(packet).first(bytes))) << bytes;
  }
}

TEST_P(SealerTest, open__tag_bits_are_all_checked) {
  Pair pair(GetParam());
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  for (std::size_t bit = kTagOffset * 8; bit < kFramesOffset * 8; ++bit) {
    EXPECT_FALSE(opens(pair.responder, flipped(packet, bit))) << "bit " << bit;
  }
}

TEST_P(SealerTest, moved_to__keeps_its_keys) {
  Pair pair(GetParam());
  Sealer moved = std::move(pair.initiator);
  EXPECT_EQ(moved.mode(), GetParam());
  EXPECT_TRUE(opens(pair.responder, sealed(moved, sample_packet(80))));
}

// What both checks must see: the parameter is all modes but kNone.
class SealerIntegrity : public ::testing::TestWithParam<SealMode> {};

INSTANTIATE_TEST_SUITE_P(Modes, SealerIntegrity,
                         ::testing::Values(SealMode::kCrc32c, SealMode::kGmac));

TEST_P(SealerIntegrity, open__every_single_bit_flip_is_caught) {
  Pair pair(GetParam());
  for (const std::size_t bytes : {36U, 37U, 48U, 52U, 60U, 164U}) {
    const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(bytes));
    for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
      ASSERT_FALSE(opens(pair.responder, flipped(packet, bit))) << bytes << " bytes, bit " << bit;
    }
  }
}

TEST_P(SealerIntegrity, open__every_single_bit_flip_in_a_large_packet_is_caught) {
  Pair pair(GetParam());
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(1'500));
  for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
    ASSERT_FALSE(opens(pair.responder, flipped(packet, bit))) << "bit " << bit;
  }
}

TEST_P(SealerIntegrity, open__number_expanded_wrongly) {
  Pair pair(GetParam());
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  EXPECT_FALSE(opens(pair.responder, packet, kPath, kNumber + (1ULL << 32)));
  EXPECT_FALSE(opens(pair.responder, packet, kPath, kNumber - (1ULL << 32)));
  EXPECT_FALSE(opens(pair.responder, packet, kPath, kNumber + 1));
  EXPECT_TRUE(opens(pair.responder, packet));
}

TEST_P(SealerIntegrity, open__another_path) {
  Pair pair(GetParam());
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  EXPECT_FALSE(opens(pair.responder, packet, kPath + 1));
}

TEST_P(SealerIntegrity, open__truncated_or_longer) {
  Pair pair(GetParam());
  std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(300));
  for (std::size_t bytes = kFramesOffset; bytes < packet.size(); ++bytes) {
    EXPECT_FALSE(opens(pair.responder, ByteSpan(packet).first(bytes))) << bytes;
  }
  packet.push_back(std::byte{0});
  EXPECT_FALSE(opens(pair.responder, packet));
}

TEST(Sealer, open__modes_that_differ) {
  constexpr std::array kModes = {SealMode::kNone, SealMode::kCrc32c, SealMode::kGmac};
  for (const SealMode ours : kModes) {
    for (const SealMode theirs : kModes) {
      Pair pair(ours);
      Pair other(theirs);
      const bool opened = opens(other.responder, sealed(pair.initiator, sample_packet(100)));
      EXPECT_EQ(opened, ours == theirs);
    }
  }
}

TEST(Sealer, default_is_none) {
  Sealer sealer;
  EXPECT_EQ(sealer.mode(), SealMode::kNone);
  EXPECT_FALSE(sealer.phase_to_send(kStart));
  EXPECT_EQ(sealer.rekeys(), 0U);
  EXPECT_TRUE(opens(sealer, sealed(sealer, sample_packet(60))));
}

// With the checksum alone there is no key, hence no phase: none is counted, none is checked.
TEST(Sealer, phase_to_send__only_gmac_has_phases) {
  const Sealer::Limits limits{.rekey_packets = 1, .rekey_interval = nanoseconds(1)};
  for (const SealMode mode : {SealMode::kNone, SealMode::kCrc32c}) {
    Sealer sealer(kStart, mode, sample_material(), true, limits);
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(sealer.phase_to_send(kStart + seconds(i)));
    EXPECT_EQ(sealer.rekeys(), 0U);
  }
}

TEST(Sealer, seal__tag_is_the_gmac_of_the_packet_without_its_tag_field) {
  const KeyMaterial material = sample_material();
  Pair pair(SealMode::kGmac, material);
  std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(333));
  Tag found;
  std::memcpy(found.bytes.data(), packet.data() + kTagOffset, kTagBytes);
  packet.erase(packet.begin() + kTagOffset, packet.begin() + kFramesOffset);

  const GmacKey key(phase_keys(traffic_secrets(material).initiator, GmacKernel::kEvp).packet_key,
                    GmacKernel::kEvp);
  EXPECT_TRUE(tag_equal(key.tag({.prefix = kPath, .counter = kNumber}, packet, {}), found));
}

TEST(Sealer, open__own_packet_sent_back) {
  Pair pair(SealMode::kGmac);
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  EXPECT_FALSE(opens(pair.initiator, packet));
  EXPECT_TRUE(opens(pair.responder, packet));
}

TEST(Sealer, open__packet_of_another_connection) {
  Pair pair(SealMode::kGmac);
  const std::vector<std::byte> packet = sealed(pair.initiator, sample_packet(100));
  const auto refuses = [&](auto change) {
    KeyMaterial material = sample_material();
    change(material);
    Pair other(SealMode::kGmac, material);
    return !opens(other.responder, packet);
  };
  EXPECT_TRUE(refuses([](KeyMaterial& m) { m.job_key[31] ^= std::byte{1}; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { m.initiator_nonce[0] ^= std::byte{1}; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { m.responder_nonce[31] ^= std::byte{1}; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { ++m.initiator_rank; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { ++m.responder_rank; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { ++m.initiator_incarnation; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { ++m.responder_incarnation; }));
  EXPECT_TRUE(refuses([](KeyMaterial& m) { ++m.world; }));
}

TEST(SealerDeathTest, seal__without_room_for_the_tag) {
  Sealer sealer;
  std::vector<std::byte> packet = sample_packet(kFramesOffset - 1);
  EXPECT_DEATH(sealer.seal(packet, {}, kPath, kNumber, false), "kFramesOffset");
}

TEST(SealerDeathTest, seal__phase_that_was_not_given_out) {
  Pair pair(SealMode::kGmac);
  std::vector<std::byte> packet = sample_packet(100);
  EXPECT_DEATH(pair.initiator.seal(packet, {}, kPath, kNumber, true), "send_bit");
}

}  // namespace
}  // namespace zhinu::core

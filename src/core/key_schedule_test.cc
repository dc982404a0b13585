#include "core/key_schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/handshake_samples_test.h"

namespace zhinu::core {
namespace {

using test::sample_material;

std::string hex(ByteSpan bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

template <std::size_t kBytes>
std::array<std::byte, kBytes> counting_from(unsigned first) {
  std::array<std::byte, kBytes> bytes{};
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

// The expected values were made with other programs: HMAC and HKDF with Python's hmac and
// hashlib, AES with the command-line tool of OpenSSL.
KeyMaterial counting_material() {
  KeyMaterial material = sample_material();
  material.job_key = counting_from<32>(0);
  material.initiator_nonce = counting_from<32>(0x40);
  material.responder_nonce = counting_from<32>(0x80);
  return material;
}

constexpr std::array kKernels = {GmacKernel::kEvp, GmacKernel::kPclmul, GmacKernel::kVpclmul512};

TEST(KeySchedule, traffic_secrets__known_answer) {
  const TrafficSecrets secrets = traffic_secrets(counting_material());
  EXPECT_EQ(hex(secrets.initiator), "45ba37cc12f35bf4b5adefa2a3637ef2");
  EXPECT_EQ(hex(secrets.responder), "5c3d8775d28b03f101e81ba5a578a5b3");
}

TEST(KeySchedule, phase_keys__known_answer_with_every_kernel) {
  const Secret first = traffic_secrets(counting_material()).initiator;
  for (const GmacKernel kernel : kKernels) {
    if (!gmac_kernel_available(kernel)) continue;
    const PhaseKeys keys = phase_keys(first, kernel);
    EXPECT_EQ(hex(keys.packet_key), "9bc4cc029f6eb0722d6a438aaf6813c0") << gmac_kernel_name(kernel);
    EXPECT_EQ(hex(keys.next), "dd8ce12cd7be206a7d5d0b44a5fa1d7b") << gmac_kernel_name(kernel);
    EXPECT_EQ(hex(phase_keys(keys.next, kernel).packet_key), "8bc1526a0c0681457abc9af8374607a2");
  }
}

TEST(KeySchedule, handshake_tag__known_answer) {
  const Tag tag = handshake_tag(counting_from<32>(0), counting_from<192>(0));
  EXPECT_EQ(hex(tag.bytes), "63db3f6b6102cfacd9ce868cc907b1b5");
}

TEST(KeySchedule, handshake_tag__depends_on_key_and_every_byte) {
  std::set<std::string> seen = {hex(handshake_tag(counting_from<32>(0), {}).bytes)};
  auto tagged = counting_from<192>(0);
  seen.insert(hex(handshake_tag(counting_from<32>(0), tagged).bytes));
  seen.insert(hex(handshake_tag(counting_from<32>(1), tagged).bytes));
  for (std::byte& byte : tagged) {
    byte ^= std::byte{1};
    seen.insert(hex(handshake_tag(counting_from<32>(0), tagged).bytes));
    byte ^= std::byte{1};
  }
  EXPECT_EQ(seen.size(), 3U + 192U);
}

TEST(KeySchedule, traffic_secrets__every_part_of_the_material_matters_in_both_directions) {
  std::set<Secret> seen;
  std::size_t expected = 0;
  const auto add = [&](auto change) {
    KeyMaterial material = sample_material();
    change(material);
    const TrafficSecrets secrets = traffic_secrets(material);
    seen.insert(secrets.initiator);
    seen.insert(secrets.responder);
    expected += 2;
    EXPECT_EQ(seen.size(), expected);
  };
  add([](KeyMaterial&) {});
  add([](KeyMaterial& m) { m.job_key[0] ^= std::byte{1}; });
  add([](KeyMaterial& m) { m.job_key[31] ^= std::byte{0x80}; });
  add([](KeyMaterial& m) { m.initiator_nonce[31] ^= std::byte{1}; });
  add([](KeyMaterial& m) { m.responder_nonce[0] ^= std::byte{1}; });
  add([](KeyMaterial& m) { std::swap(m.initiator_nonce, m.responder_nonce); });
  add([](KeyMaterial& m) { m.initiator_rank ^= 0x8000'0000; });
  add([](KeyMaterial& m) { m.responder_rank ^= 0x8000'0000; });
  add([](KeyMaterial& m) { std::swap(m.initiator_rank, m.responder_rank); });
  add([](KeyMaterial& m) { m.initiator_incarnation ^= 1ULL << 63; });
  add([](KeyMaterial& m) { m.responder_incarnation ^= 1ULL << 63; });
  add([](KeyMaterial& m) { std::swap(m.initiator_incarnation, m.responder_incarnation); });
  add([](KeyMaterial& m) { m.world ^= 1ULL << 63; });
}

TEST(KeySchedule, phase_keys__phases_share_no_secret_and_no_key) {
  const TrafficSecrets secrets = traffic_secrets(sample_material());
  std::set<std::string> seen;
  for (Secret secret : {secrets.initiator, secrets.responder}) {
    for (int phase = 0; phase < 50; ++phase) {
      const PhaseKeys keys = phase_keys(secret, best_gmac_kernel());
      seen.insert(hex(secret));
      seen.insert(hex(keys.packet_key));
      secret = keys.next;
    }
  }
  EXPECT_EQ(seen.size(), 200U);
}

}  // namespace
}  // namespace zhinu::core

// Test material of the codec: a sample of every frame kind with its bytes written by
// hand from docs/wire-format.md.
//
// Everything is a plain value. Payloads borrow from storage that outlives the tests.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/codec.h"

namespace zhinu::wire::test {

struct ReservedBits {
  std::size_t byte = 0;  // in the frame
  std::uint8_t mask = 0xff;
};

struct Sample {
  std::string name;
  Frame frame;
  std::vector<AckRange> ranges;  // of an ACK
  std::string bytes;             // hexadecimal, spaces allowed, payload included
  std::vector<ReservedBits> reserved;
};

inline constexpr std::uint64_t kSampleBase = 0x2'0000'1000;  // Header::message_base of samples

std::vector<Sample> samples();
const Sample& sample_of(FrameKind kind);  // the first of its kind

// The header that all samples stand behind, and its 36 bytes with `packet_bytes` in them.
Header sample_header();
std::string sample_header_bytes(std::size_t packet_bytes);

// A packet of that header and these samples.
Packet packet_of(const std::vector<Sample>& frames);

std::vector<std::byte> from_hex(std::string_view text);
std::string to_hex(ByteSpan bytes);

}  // namespace zhinu::wire::test

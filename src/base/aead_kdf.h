// Keys from keys: HKDF-SHA256, HMAC-SHA256, and the entropy of the system.
//
// For handshakes and start-up, not for packets: each call allocates inside OpenSSL
// and takes microseconds. Owner: results are values; callers wipe what is secret.
// Thread rule: any thread. Failure: wrong sizes are bugs of the caller and assert,
// and so does an OpenSSL that cannot do SHA-256, since nothing safe can follow.
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace zhinu {

inline constexpr std::size_t kSha256Bytes = 32;
using Sha256Digest = std::array<std::byte, kSha256Bytes>;

// RFC 5869, section 2.2: a uniform key from `input`, which is not empty. `salt`
// may be public and may be empty.
Sha256Digest hkdf_extract(ByteSpan salt, ByteSpan input);

// RFC 5869, section 2.3: fills `out`, 1 to 8160 bytes, from a key that is uniform
// already. Different `info` gives independent bytes.
void hkdf_expand(const Sha256Digest& key, ByteSpan info, MutableByteSpan out);

// RFC 2104. For cookies: truncate as needed, and compare with constant_time_equal.
Sha256Digest hmac_sha256(ByteSpan key, ByteSpan data);

// False at once if the sizes differ, otherwise in the same time wherever the bytes
// differ. For secrets of any size; tags have tag_equal.
bool constant_time_equal(ByteSpan a, ByteSpan b);

// Fills `out` from OpenSSL's generator. Only entry points call it: the core takes
// entropy as an argument. False if the system has none to give; `out` is then
// unusable.
[[nodiscard]] bool secure_random(MutableByteSpan out);

}  // namespace zhinu

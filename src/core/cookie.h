// Cookies: how a responder knows that an address is real without remembering it.
//
// A cookie is an HMAC-SHA256 under a secret of this process over what the HELLO
// said and where it came from, and over the time in steps of the lifetime. It is
// taken in the step it was made in and the next one, so it lives between one and
// two lifetimes. Thread rule: one owner at a time, no state that changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "core/entropy.h"
#include "core/types.h"
#include "wire/handshake_packet.h"

namespace zhinu::core {

using Cookie = std::array<std::byte, wire::kCookieBytes>;

// Whom a cookie was made for.
struct CookieHolder {
  Address from;
  std::uint64_t connection = 0;  // the holder's own id
  std::uint64_t incarnation = 0;
  std::uint32_t rank = 0;
};

class CookieMint {
 public:
  // `lifetime` > 0.
  CookieMint(Duration lifetime, Entropy& entropy);

  Cookie make(Instant now, const CookieHolder& holder) const;
  // The comparison takes the same time wherever two cookies differ. A zero cookie
  // is never valid and costs no hash.
  bool is_valid(Instant now, const CookieHolder& holder, const Cookie& cookie) const;

 private:
  Cookie make_for_step(std::uint64_t step, const CookieHolder& holder) const;
  std::uint64_t step_of(Instant now) const;

  Duration lifetime_;
  std::array<std::byte, 32> secret_{};
};

}  // namespace zhinu::core

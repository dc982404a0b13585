#include "core/cookie.h"

#include <cstring>

#include "base/aead_kdf.h"
#include "base/bytes.h"
#include "base/check.h"

namespace zhinu::core {

CookieMint::CookieMint(Duration lifetime, Entropy& entropy) : lifetime_(lifetime) {
  ZHINU_ASSERT(lifetime > Duration{});
  entropy.fill(secret_);
}

Cookie CookieMint::make(Instant now, const CookieHolder& holder) const {
  return make_for_step(step_of(now), holder);
}

bool CookieMint::is_valid(Instant now, const CookieHolder& holder, const Cookie& cookie) const {
  if (cookie == Cookie{}) return false;
  const std::uint64_t step = step_of(now);
  return constant_time_equal(cookie, make_for_step(step, holder)) ||
         constant_time_equal(cookie, make_for_step(step - 1, holder));
}

Cookie CookieMint::make_for_step(std::uint64_t step, const CookieHolder& holder) const {
  std::array<std::byte, sizeof(Address::bytes) + 28> message{};
  std::byte* at = message.data();
  std::memcpy(at, holder.from.bytes.data(), holder.from.bytes.size());
  at += holder.from.bytes.size();
  store_le(at, holder.connection);
  store_le(at + 8, holder.incarnation);
  store_le(at + 16, holder.rank);
  store_le(at + 20, step);
  return hmac_sha256(secret_, message);
}

std::uint64_t CookieMint::step_of(Instant now) const {
  return static_cast<std::uint64_t>(now.ns / lifetime_.ns);
}

}  // namespace zhinu::core

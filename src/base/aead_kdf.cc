#include "base/aead_kdf.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <climits>
#include <memory>

#include "base/check.h"

namespace zhinu {
namespace {

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

// OpenSSL's parameters and keys are not const, though it only reads them; it also
// refuses a null pointer where it could take no bytes.
unsigned char* readable(ByteSpan bytes) {
  static constexpr unsigned char kNothing = 0;
  const auto* data =
      bytes.empty() ? &kNothing : reinterpret_cast<const unsigned char*>(bytes.data());
  return const_cast<unsigned char*>(data);
}

OSSL_PARAM octets(const char* name, ByteSpan bytes) {
  return OSSL_PARAM_construct_octet_string(name, readable(bytes), bytes.size());
}

// `mode` is half of HKDF, `extra` the salt of extract or the info of expand.
void hkdf(int mode, ByteSpan key, OSSL_PARAM extra, MutableByteSpan out) {
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  ZHINU_ASSERT(kdf != nullptr);
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
  ZHINU_ASSERT(context != nullptr);

  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      octets(OSSL_KDF_PARAM_KEY, key),
      extra,
      OSSL_PARAM_construct_end(),
  };
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  const int derived = EVP_KDF_derive(context.get(), bytes, out.size(), params);
  ZHINU_ASSERT(derived == 1);
}

}  // namespace

Sha256Digest hkdf_extract(ByteSpan salt, ByteSpan input) {
  ZHINU_ASSERT(!input.empty());
  Sha256Digest key;
  hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, input, octets(OSSL_KDF_PARAM_SALT, salt), key);
  return key;
}

void hkdf_expand(const Sha256Digest& key, ByteSpan info, MutableByteSpan out) {
  constexpr std::size_t kOutBytesMax = 255 * kSha256Bytes;
  ZHINU_ASSERT(!out.empty());
  ZHINU_ASSERT(out.size() <= kOutBytesMax);
  hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, key, octets(OSSL_KDF_PARAM_INFO, info), out);
}

Sha256Digest hmac_sha256(ByteSpan key, ByteSpan data) {
  ZHINU_ASSERT(key.size() <= INT_MAX);
  Sha256Digest digest;
  unsigned int written = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), readable(key), static_cast<int>(key.size()), readable(data), data.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &written);
  ZHINU_ASSERT(done != nullptr);
  ZHINU_ASSERT(written == digest.size());
  return digest;
}

bool constant_time_equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && CRYPTO_memcmp(readable(a), readable(b), a.size()) == 0;
}

bool secure_random(MutableByteSpan out) {
  ZHINU_ASSERT(out.size() <= INT_MAX);
  return RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) ==
         1;
}

}  // namespace zhinu

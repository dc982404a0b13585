#include "base/aead.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <climits>

#include "base/aead_ghash.h"
#include "base/check.h"

namespace zhinu {
namespace {

// OpenSSL fails here only when it is out of memory or built without AES.
evp_cipher_ctx_st* new_context(std::span<const std::byte, kGmacKeyBytes> key) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  ZHINU_ASSERT(context != nullptr);
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  const int started = EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, bytes, nullptr);
  ZHINU_ASSERT(started == 1);
  return context;
}

// Made in its place by the caller's initialiser, so that no copy stays on the stack.
GmacTable table_for(std::span<const std::byte, kGmacKeyBytes> key, GmacKernel kernel) {
  ZHINU_ASSERT(gmac_kernel_available(kernel));
  if (kernel == GmacKernel::kEvp) return {};
  return gmac::make_table(key);
}

// A context that was given its key once only needs a nonce for the next tag.
Tag tag_evp(EVP_CIPHER_CTX* context, Nonce nonce, std::span<const ByteSpan> pieces) {
  std::array<std::byte, 12> nonce_bytes;
  store_le(nonce_bytes.data(), nonce.prefix);
  store_le(nonce_bytes.data() + sizeof nonce.prefix, nonce.counter);
  const auto* iv = reinterpret_cast<const unsigned char*>(nonce_bytes.data());
  bool ok = EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, iv) == 1;
  int written = 0;
  for (const ByteSpan piece : pieces) {
    ZHINU_ASSERT(piece.size() <= INT_MAX);
    const auto* bytes = reinterpret_cast<const unsigned char*>(piece.data());
    const int size = static_cast<int>(piece.size());
    if (size != 0) ok = EVP_EncryptUpdate(context, nullptr, &written, bytes, size) == 1 && ok;
  }
  unsigned char no_ciphertext[16];
  ok = EVP_EncryptFinal_ex(context, no_ciphertext, &written) == 1 && ok;
  // Asked for by name and not by EVP_CIPHER_CTX_ctrl, which would look the name up.
  Tag tag;
  OSSL_PARAM wanted[] = {
      OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag.bytes.data(),
                                        tag.bytes.size()),
      OSSL_PARAM_construct_end(),
  };
  ok = EVP_CIPHER_CTX_get_params(context, wanted) == 1 && ok;
  ZHINU_ASSERT(ok);
  return tag;
}

}  // namespace

bool gmac_kernel_available(GmacKernel kernel) {
  const bool pclmul = __builtin_cpu_supports("avx") && __builtin_cpu_supports("aes") &&
                      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
  switch (kernel) {
    case GmacKernel::kEvp: return true;
    case GmacKernel::kPclmul: return pclmul;
    case GmacKernel::kVpclmul512:
      return pclmul && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
             __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
  }
  return false;
}

GmacKernel best_gmac_kernel() {
  for (const GmacKernel kernel : {GmacKernel::kVpclmul512, GmacKernel::kPclmul}) {
    if (gmac_kernel_available(kernel)) return kernel;
  }
  return GmacKernel::kEvp;
}

const char* gmac_kernel_name(GmacKernel kernel) {
  switch (kernel) {
    case GmacKernel::kEvp: return "evp";
    case GmacKernel::kPclmul: return "pclmul";
    case GmacKernel::kVpclmul512: return "vpclmul512";
  }
  return "unknown";
}

GmacKey::GmacKey(std::span<const std::byte, kGmacKeyBytes> key, GmacKernel kernel)
    : table_(table_for(key, kernel)), kernel_(kernel) {
  if (kernel == GmacKernel::kEvp) evp_.reset(new_context(key));
}

GmacKey::GmacKey(GmacKey&&) noexcept = default;
GmacKey& GmacKey::operator=(GmacKey&&) noexcept = default;

GmacKey::~GmacKey() { OPENSSL_cleanse(&table_, sizeof table_); }

void GmacKey::FreeContext::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);  // wipes the key
}

Tag GmacKey::tag(Nonce nonce, std::span<const ByteSpan> pieces) const {
  switch (kernel_) {
    case GmacKernel::kVpclmul512: return gmac::tag_vpclmul512(table_, nonce, pieces);
    case GmacKernel::kPclmul: return gmac::tag_pclmul(table_, nonce, pieces);
    case GmacKernel::kEvp: break;
  }
  ZHINU_ASSERT(evp_ != nullptr);
  return tag_evp(evp_.get(), nonce, pieces);
}

}  // namespace zhinu

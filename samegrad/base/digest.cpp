#include "samegrad/base/digest.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "samegrad/base/check.h"
#include "samegrad/base/mapped_file.h"

namespace samegrad {

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SAMEGRAD_CHECK_OP(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr), ==, 1);
}

Sha256::~Sha256() { EVP_MD_CTX_free(state_->context); }

void Sha256::update(std::string_view bytes) {
  SAMEGRAD_CHECK_OP(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()), ==, 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  SAMEGRAD_CHECK_OP(EVP_DigestFinal_ex(state_->context, digest.data(), &size), ==, 1);
  SAMEGRAD_CHECK_OP(size, ==, digest.size());
  return hexadecimal(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_file_hex(const std::filesystem::path& path, std::string_view stage) {
  return sha256_hex(MappedFile(path, stage).bytes());
}

std::string xxh3_128_hex(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return hexadecimal(canonical.digest);
}

}  // namespace samegrad

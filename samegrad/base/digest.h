// Digests: SHA-256 (OpenSSL) for files, XXH3-128 for short texts (of tensors: kernels/xxh3.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace samegrad {

/// Two lower-case hexadecimal digits a byte.
std::string hexadecimal(std::span<const unsigned char> bytes);

/// SHA-256 over pieces, in the order given.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  /// 64 lower-case hexadecimal digits. Call once.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a whole file, mapped read-only. Throws InputError (stage `stage`) naming the file.
std::string sha256_file_hex(const std::filesystem::path& path, std::string_view stage);

/// XXH3-128 of `bytes` (seed 0), as 32 lower-case hexadecimal digits of the canonical (big-endian) form.
std::string xxh3_128_hex(std::string_view bytes);

}  // namespace samegrad

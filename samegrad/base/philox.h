// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// A value depends on key and counter alone, so it is the same whoever computes it, in whatever order.
#pragma once

#include <array>
#include <cstdint>

namespace samegrad {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Ten rounds of Philox4x32.
inline PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

/// The key of one stream of a run. Streams never overlap: a stream number is used for one purpose only.
enum class PhiloxStream : std::uint32_t {
  kLessonData = 1,
  kInitialWeights = 2,
  kDropout = 3,
  kGenerate = 4,
  kAtomGenerator = 5
};

inline PhiloxKey philox_key(std::uint64_t seed, PhiloxStream stream) {
  return {static_cast<std::uint32_t>(seed) ^ (static_cast<std::uint32_t>(stream) * 0x85EBCA6BU),
          static_cast<std::uint32_t>(seed >> 32)};
}

/// [0, 1) with 24 bits, exact in float.
inline float philox_unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1.0p-24F; }

}  // namespace samegrad

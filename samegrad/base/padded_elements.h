// The place that a tensor takes in a flat block of memory.
#pragma once

#include <cstdint>

namespace samegrad {

/// Elements up to where the next tensor may begin: at a multiple of 64 bytes of the narrowest type, float32 (bits of
/// matrix products can depend on alignment below that). Local.
constexpr std::int64_t padded_elements(std::int64_t elements) {
  constexpr std::int64_t kElements = 64 / static_cast<std::int64_t>(sizeof(float));
  return (elements + kElements - 1) / kElements * kElements;
}

}  // namespace samegrad

// Masks of keyed dropout: an element depends on a key and its number alone.
#pragma once

#include <cstdint>

namespace samegrad {

/// One dropout operation of one forward pass. Element e is word e % 4 of Philox4x32-10 (base/philox.h) at the counter
/// {e / 4, operation, atom, update}, of which the upper 24 bits count: below `threshold` the element is dropped.
struct KeyedMask {
  std::uint32_t key[2] = {};
  std::uint32_t operation = 0;
  std::uint32_t atom = 0;
  std::uint32_t update = 0;
  std::uint32_t threshold = 0;  ///< probability x 2^24, rounded up; 0 drops nothing
  double kept = 1.0;            ///< the value of an element that is not dropped, 1 / (1 - probability)
};

/// values[i] = element first + i of the mask: 0 or `kept`. Local.
void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, float* values);
void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, double* values);

}  // namespace samegrad

// Dropout masks from counter-based random numbers (base/philox.h).
#pragma once

#include <cstdint>

namespace samegrad {

/// One operation's random numbers: element e takes word e % 4 of the Philox block with counter
/// (e / 4, operation, atom, update).
struct MaskNumbers {
  std::uint32_t key0;
  std::uint32_t key1;
  std::uint32_t operation;
  std::uint32_t atom;
  std::uint32_t update;
};

/// mask[i] = 0 where the number of element first + i, in [0, 1), is below `probability`, else `kept`; the same for
/// every set of instructions. Requires first >= 0. Local.
void dropout_mask(const MaskNumbers& numbers, float probability, float kept, std::int64_t first, std::int64_t count,
                  float* mask);
void dropout_mask(const MaskNumbers& numbers, float probability, double kept, std::int64_t first, std::int64_t count,
                  double* mask);

}  // namespace samegrad

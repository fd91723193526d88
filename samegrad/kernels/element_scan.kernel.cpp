#include "samegrad/kernels/element_scan.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {

void square_sums(const float* values, std::int64_t count, double* lanes) {
  double sums[kSquareLanes] = {};
  std::int64_t i = 0;
  for (; i + kSquareLanes <= count; i += kSquareLanes) {
    for (std::int64_t lane = 0; lane < kSquareLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = values[i];
    sums[i % kSquareLanes] += value * value;
  }
  for (std::int64_t lane = 0; lane < kSquareLanes; ++lane) lanes[lane] = sums[lane];
}

// A sum of integers, as a compiler makes one instruction an element of it; of bool, it does not.
bool any_nan(const float* values, std::int64_t count) {
  std::int32_t any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= static_cast<std::int32_t>(values[i] != values[i]);
  return any != 0;
}

bool any_nan(const double* values, std::int64_t count) {
  std::int64_t any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= static_cast<std::int64_t>(values[i] != values[i]);
  return any != 0;
}

}  // namespace samegrad::SAMEGRAD_ISA

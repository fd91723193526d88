#include "samegrad/kernels/elementwise.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {

void multiply_by(float* values, const float* factors, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factors[i];
}

void column_sums(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t j = 0; j < columns; ++j) to[j] = 0.0F;
  for (std::int64_t row = 0; row < rows; ++row, from += columns) {
    for (std::int64_t j = 0; j < columns; ++j) to[j] += from[j];
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

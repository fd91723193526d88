#include "samegrad/kernels/gradient_sum.h"

#include <cstdint>

#include "samegrad/kernels/independent_steps.h"

namespace samegrad::SAMEGRAD_ISA {

// `sum` may be an operand, never a shifted one: iterations do not depend on one another.
void add_floats(const float* left, const float* right, float* sum, std::int64_t count) {
  SAMEGRAD_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

void add_doubles(const double* left, const double* right, double* sum, std::int64_t count) {
  SAMEGRAD_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

void multiply_floats(float* values, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

void divide_floats(float* values, float divisor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] /= divisor;
}

void divide_doubles(double* values, double divisor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] /= divisor;
}

void divide_floats_in_double(float* values, double divisor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<double>(values[i]) / divisor);
}

}  // namespace samegrad::SAMEGRAD_ISA

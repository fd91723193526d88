// Adding and dividing gradients: one operation an element, each rounded once, the same bits for every set of
// instructions.
#pragma once

#include <cstdint>

namespace samegrad {

/// sum[i] = left[i] + right[i]; `sum` may be either of them. Local.
void add_floats(const float* left, const float* right, float* sum, std::int64_t count);
void add_doubles(const double* left, const double* right, double* sum, std::int64_t count);

/// values[i] = values[i] * factor. Local.
void multiply_floats(float* values, float factor, std::int64_t count);

/// values[i] = values[i] / divisor. Local.
void divide_floats(float* values, float divisor, std::int64_t count);
void divide_doubles(double* values, double divisor, std::int64_t count);

/// values[i] = float(double(values[i]) / divisor). Local.
void divide_floats_in_double(float* values, double divisor, std::int64_t count);

}  // namespace samegrad

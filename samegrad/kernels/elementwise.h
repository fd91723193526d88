// Passes over memory that other operations need beside their products.
#pragma once

#include <cstdint>

namespace samegrad {

/// values[i] *= factors[i]. Local.
void multiply_by(float* values, const float* factors, std::int64_t count);
void multiply_by(double* values, const double* factors, std::int64_t count);

/// to [columns] = the sum of the rows of from [rows, columns], added in their order to +0. Local.
void column_sums(const float* from, std::int64_t rows, std::int64_t columns, float* to);
void column_sums(const double* from, std::int64_t rows, std::int64_t columns, double* to);

}  // namespace samegrad

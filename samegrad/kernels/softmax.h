// Softmax of rows.
#pragma once

#include <cstdint>

namespace samegrad {

/// Each row of values [rows, columns] becomes its softmax, e^(value - largest) / total; largest [rows] is the row's
/// largest value, total [rows] the sum of the e^(value - largest). A row with a NaN, with +inf or with -inf alone
/// becomes NaN. The sum's order depends on the number of columns alone. Local.
void softmax_rows(float* values, std::int64_t rows, std::int64_t columns, float* largest, float* total);
void softmax_rows(double* values, std::int64_t rows, std::int64_t columns, double* largest, double* total);

}  // namespace samegrad

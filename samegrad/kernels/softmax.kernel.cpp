#include "samegrad/kernels/softmax.h"

#include <cstdint>

#include "samegrad/kernels/float_math.h"
#include "samegrad/kernels/wide.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

float largest_of(const float* values, std::int64_t columns) {
  Wide most = wide_of(values[0]);
  for (std::int64_t j = 0; j < columns; j += kWideFloats) {
    most = greater_of(load_wide(values + j, columns - j, values[0]), most);
  }
  float each[kWideFloats];
  store_wide(each, kWideFloats, most);
  float largest = each[0];
  for (int i = 1; i < kWideFloats; ++i) largest = each[i] > largest ? each[i] : largest;
  return largest;
}

float sum_of_row(const float* values, std::int64_t columns) {
  Wide total = wide_of(0.0F);
  for (std::int64_t j = 0; j < columns; j += kWideFloats) total = total + load_wide(values + j, columns - j);
  return sum_of(total);
}

}  // namespace

void softmax_rows(float* values, std::int64_t rows, std::int64_t columns, float* largest, float* total) {
  for (std::int64_t row = 0; row < rows; ++row, values += columns) {
    const float most = largest_of(values, columns);
    for (std::int64_t j = 0; j < columns; ++j) values[j] = exponential(values[j] - most, 0.0F);
    const float sum = sum_of_row(values, columns);
    for (std::int64_t j = 0; j < columns; ++j) values[j] /= sum;
    largest[row] = most;
    total[row] = sum;
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

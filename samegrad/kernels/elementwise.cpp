#include "samegrad/kernels/elementwise.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

using MultiplyBy = void(float* values, const float* factors, std::int64_t count);
using ColumnSums = void(const float* from, std::int64_t rows, std::int64_t columns, float* to);
namespace portable {
MultiplyBy multiply_by;
ColumnSums column_sums;
}  // namespace portable
namespace avx2 {
MultiplyBy multiply_by;
ColumnSums column_sums;
}  // namespace avx2
namespace avx512 {
MultiplyBy multiply_by;
ColumnSums column_sums;
}  // namespace avx512

void multiply_by(float* values, const float* factors, std::int64_t count) {
  static MultiplyBy* const kKernel = kernel_for(portable::multiply_by, avx2::multiply_by, avx512::multiply_by);
  kKernel(values, factors, count);
}

void column_sums(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  static ColumnSums* const kKernel = kernel_for(portable::column_sums, avx2::column_sums, avx512::column_sums);
  kKernel(from, rows, columns, to);
}

void multiply_by(double* values, const double* factors, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factors[i];
}

void column_sums(const double* from, std::int64_t rows, std::int64_t columns, double* to) {
  for (std::int64_t j = 0; j < columns; ++j) to[j] = 0.0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < columns; ++j) to[j] += from[row * columns + j];
  }
}

}  // namespace samegrad

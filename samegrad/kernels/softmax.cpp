#include "samegrad/kernels/softmax.h"

#include <algorithm>
#include <cmath>

#include "samegrad/kernels/isa.h"

namespace samegrad {

using SoftmaxRows = void(float* values, std::int64_t rows, std::int64_t columns, float* largest, float* total);
namespace portable {
SoftmaxRows softmax_rows;
}
namespace avx2 {
SoftmaxRows softmax_rows;
}
namespace avx512 {
SoftmaxRows softmax_rows;
}

void softmax_rows(float* values, std::int64_t rows, std::int64_t columns, float* largest, float* total) {
  static SoftmaxRows* const kKernel = kernel_for(portable::softmax_rows, avx2::softmax_rows, avx512::softmax_rows);
  kKernel(values, rows, columns, largest, total);
}

void softmax_rows(double* values, std::int64_t rows, std::int64_t columns, double* largest, double* total) {
  for (std::int64_t row = 0; row < rows; ++row, values += columns) {
    largest[row] = *std::max_element(values, values + columns);
    total[row] = 0.0;
    for (std::int64_t j = 0; j < columns; ++j) {
      values[j] = std::exp(values[j] - largest[row]);
      total[row] += values[j];
    }
    for (std::int64_t j = 0; j < columns; ++j) values[j] /= total[row];
  }
}

}  // namespace samegrad

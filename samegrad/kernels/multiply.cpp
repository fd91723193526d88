#include "samegrad/kernels/multiply.h"

#include <algorithm>
#include <memory>
#include <new>

#include "samegrad/kernels/isa.h"

namespace samegrad {

using Multiply = void(const MatrixView<float>& a, const MatrixView<float>& b, std::int64_t rows, std::int64_t columns,
                      std::int64_t depth, const float* bias, float* c, float* packed);
namespace portable {
Multiply multiply;
}
namespace avx2 {
Multiply multiply;
}
namespace avx512 {
Multiply multiply;
}

namespace {

struct FreeAligned {
  void operator()(float* values) const { ::operator delete[](values, std::align_val_t{64}); }
};

float* packing_space() {
  constexpr std::size_t kBytes = kMultiplyPacked * sizeof(float);
  thread_local const std::unique_ptr<float[], FreeAligned> kSpace(
      static_cast<float*>(::operator new[](kBytes, std::align_val_t{64})));
  return kSpace.get();
}

}  // namespace

void multiply(const MatrixView<float>& a, const MatrixView<float>& b, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const float* bias, float* c) {
  static Multiply* const kKernel = kernel_for(portable::multiply, avx2::multiply, avx512::multiply);
  kKernel(a, b, rows, columns, depth, bias, c, packing_space());
}

void multiply(const MatrixView<double>& a, const MatrixView<double>& b, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const double* bias, double* c) {
  for (std::int64_t i = 0; i < rows; ++i) {
    double* const row = c + i * columns;
    if (bias == nullptr) {
      std::fill_n(row, columns, 0.0);
    } else {
      std::copy_n(bias, columns, row);
    }
    for (std::int64_t p = 0; p < depth; ++p) {
      const double factor = a.values[i * a.row_stride + p * a.column_stride];
      const double* const from = b.values + p * b.row_stride;
      for (std::int64_t j = 0; j < columns; ++j) row[j] += factor * from[j * b.column_stride];
    }
  }
}

}  // namespace samegrad

#include "samegrad/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "samegrad/kernels/isa.h"

namespace samegrad {

using LayerNorm = void(const float* x, const float* added, const float* weight, const float* bias,
                       const NormalRows<float>& rows, float* sum, float* y);
using LayerNormBackward = void(const float* of_y, const float* of_sum, const float* weight,
                               const NormalRows<float>& rows, float* to_sum, float* to_weight, float* to_bias);
namespace portable {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
}  // namespace portable
namespace avx2 {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
}  // namespace avx2
namespace avx512 {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
}  // namespace avx512

void layer_norm(const float* x, const float* added, const float* weight, const float* bias,
                const NormalRows<float>& rows, float* sum, float* y) {
  static LayerNorm* const kKernel = kernel_for(portable::layer_norm, avx2::layer_norm, avx512::layer_norm);
  kKernel(x, added, weight, bias, rows, sum, y);
}

void layer_norm_backward(const float* of_y, const float* of_sum, const float* weight, const NormalRows<float>& rows,
                         float* to_sum, float* to_weight, float* to_bias) {
  static LayerNormBackward* const kKernel =
      kernel_for(portable::layer_norm_backward, avx2::layer_norm_backward, avx512::layer_norm_backward);
  kKernel(of_y, of_sum, weight, rows, to_sum, to_weight, to_bias);
}

void layer_norm(const double* x, const double* added, const double* weight, const double* bias,
                const NormalRows<double>& rows, double* sum, double* y) {
  const auto width = static_cast<double>(rows.width);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t begin = row * rows.width;
    double* const normal = rows.normal + begin;
    double total = 0.0;
    for (std::int64_t j = 0; j < rows.width; ++j) {
      normal[j] = x[begin + j];
      if (added != nullptr) normal[j] += added[begin + j];
      if (sum != nullptr) sum[begin + j] = normal[j];
      total += normal[j];
    }
    double squares = 0.0;
    for (std::int64_t j = 0; j < rows.width; ++j) {
      normal[j] -= total / width;
      squares += normal[j] * normal[j];
    }
    const double scale = 1.0 / std::sqrt(squares / width + kLayerNormEpsilon);
    rows.scale[row] = scale;
    for (std::int64_t j = 0; j < rows.width; ++j) {
      normal[j] *= scale;
      y[begin + j] = normal[j] * weight[j] + bias[j];
    }
  }
}

void layer_norm_backward(const double* of_y, const double* of_sum, const double* weight, const NormalRows<double>& rows,
                         double* to_sum, double* to_weight, double* to_bias) {
  const auto width = static_cast<double>(rows.width);
  std::fill_n(to_weight, rows.width, 0.0);
  std::fill_n(to_bias, rows.width, 0.0);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t begin = row * rows.width;
    const double* const normal = rows.normal + begin;
    double total = 0.0;
    double along = 0.0;
    for (std::int64_t j = 0; j < rows.width; ++j) {
      const double of = of_y[begin + j];
      to_weight[j] += of * normal[j];
      to_bias[j] += of;
      total += of * weight[j];
      along += of * weight[j] * normal[j];
    }
    for (std::int64_t j = 0; j < rows.width; ++j) {
      const double to = rows.scale[row] * (of_y[begin + j] * weight[j] - total / width - normal[j] * (along / width));
      to_sum[begin + j] = of_sum == nullptr ? to : to + of_sum[begin + j];
    }
  }
}

}  // namespace samegrad

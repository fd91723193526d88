// Layer normalisation (Ba, Kiros and Hinton 2016) of rows, with what is added to them before.
#pragma once

#include <cstdint>

namespace samegrad {

/// PyTorch's default.
inline constexpr double kLayerNormEpsilon = 1e-5;

/// What backward needs of rows [rows, width] that were normalised, beside the weight.
template <typename Element>
struct NormalRows {
  std::int64_t rows;
  std::int64_t width;
  Element* normal;  ///< [rows, width]: (row - mean) / sqrt(variance + 1e-5), with the variance of all `width` values
  Element* scale;   ///< [rows]: 1 / sqrt(variance + 1e-5)
};

/// Of sum = x + added: normal and scale, and y = normal * weight + bias. All [rows, width] but weight and bias, which
/// are [width]. `added` null: sum = x; `sum` null: it is not kept.
/// The additions within a row are in an order that depends on the width alone. Local.
void layer_norm(const float* x, const float* added, const float* weight, const float* bias,
                const NormalRows<float>& rows, float* sum, float* y);
void layer_norm(const double* x, const double* added, const double* weight, const double* bias,
                const NormalRows<double>& rows, double* sum, double* y);

/// From the gradient of y: that of sum, plus `of_sum` where it is not null (what else sum was used for); and those of
/// weight and bias, added over the rows in their order. Local.
void layer_norm_backward(const float* of_y, const float* of_sum, const float* weight, const NormalRows<float>& rows,
                         float* to_sum, float* to_weight, float* to_bias);
void layer_norm_backward(const double* of_y, const double* of_sum, const double* weight, const NormalRows<double>& rows,
                         double* to_sum, double* to_weight, double* to_bias);

}  // namespace samegrad

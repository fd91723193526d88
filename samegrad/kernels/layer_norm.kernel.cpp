// Rows go by sixteen values at a time; what a row has fewer at its end is filled up with values that add nothing.
#include "samegrad/kernels/layer_norm.h"

#include <cstdint>

#include "samegrad/kernels/wide.h"

namespace samegrad::SAMEGRAD_ISA {

void layer_norm(const float* x, const float* added, const float* weight, const float* bias,
                const NormalRows<float>& rows, float* sum, float* y) {
  const std::int64_t width = rows.width;
  const auto divisor = static_cast<float>(width);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t begin = row * width;
    float* const normal = rows.normal + begin;
    Wide total = wide_of(0.0F);
    for (std::int64_t j = 0; j < width; j += kWideFloats) {
      Wide value = load_wide(x + begin + j, width - j);
      if (added != nullptr) value = value + load_wide(added + begin + j, width - j);
      if (sum != nullptr) store_wide(sum + begin + j, width - j, value);
      store_wide(normal + j, width - j, value);
      total = total + value;
    }
    const float mean = sum_of(total) / divisor;
    Wide squares = wide_of(0.0F);
    for (std::int64_t j = 0; j < width; j += kWideFloats) {
      const Wide centred = load_wide(normal + j, width - j, mean) - wide_of(mean);
      squares = squares + centred * centred;
    }
    const float scale = 1.0F / __builtin_sqrtf(sum_of(squares) / divisor + static_cast<float>(kLayerNormEpsilon));
    rows.scale[row] = scale;
    for (std::int64_t j = 0; j < width; j += kWideFloats) {
      const Wide value = (load_wide(normal + j, width - j) - wide_of(mean)) * wide_of(scale);
      store_wide(normal + j, width - j, value);
      store_wide(y + begin + j, width - j, value * load_wide(weight + j, width - j) + load_wide(bias + j, width - j));
    }
  }
}

void layer_norm_backward(const float* of_y, const float* of_sum, const float* weight, const NormalRows<float>& rows,
                         float* to_sum, float* to_weight, float* to_bias) {
  const std::int64_t width = rows.width;
  const auto divisor = static_cast<float>(width);
  for (std::int64_t j = 0; j < width; ++j) to_weight[j] = to_bias[j] = 0.0F;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t begin = row * width;
    const float* const normal = rows.normal + begin;
    Wide total = wide_of(0.0F);
    Wide along = wide_of(0.0F);
    for (std::int64_t j = 0; j < width; j += kWideFloats) {
      const Wide of = load_wide(of_y + begin + j, width - j);
      const Wide value = load_wide(normal + j, width - j);
      const Wide weighed = of * load_wide(weight + j, width - j);
      store_wide(to_weight + j, width - j, load_wide(to_weight + j, width - j) + of * value);
      store_wide(to_bias + j, width - j, load_wide(to_bias + j, width - j) + of);
      total = total + weighed;
      along = along + weighed * value;
    }
    const Wide mean = wide_of(sum_of(total) / divisor);
    const Wide mean_along = wide_of(sum_of(along) / divisor);
    const Wide scale = wide_of(rows.scale[row]);
    for (std::int64_t j = 0; j < width; j += kWideFloats) {
      const Wide weighed = load_wide(of_y + begin + j, width - j) * load_wide(weight + j, width - j);
      Wide to = scale * (weighed - mean - load_wide(normal + j, width - j) * mean_along);
      if (of_sum != nullptr) to = to + load_wide(of_sum + begin + j, width - j);
      store_wide(to_sum + begin + j, width - j, to);
    }
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

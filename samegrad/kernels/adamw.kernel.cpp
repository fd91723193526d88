#include "samegrad/kernels/adamw.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {

void adamw_step(const AdamwScalars& scalars, const float* gradient, float* mean, float* square, float* values,
                std::int64_t count) {
  const AdamwScalars s = scalars;  // a copy: the arrays could alias the caller's
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    mean[i] = s.beta1 * mean[i] + s.fresh1 * g;
    square[i] = s.beta2 * square[i] + s.fresh2 * (g * g);
    const float denominator = __builtin_sqrtf(square[i]) / s.root_correction + s.epsilon;
    values[i] = values[i] * s.keep - s.step_size * (mean[i] / denominator);
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

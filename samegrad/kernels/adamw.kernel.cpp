#include "samegrad/kernels/adamw.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {
namespace {

template <bool kClips>
void step(AdamwScalars s, const float* __restrict gradient, float* __restrict mean, float* __restrict square,
          float* __restrict values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = kClips ? static_cast<float>(static_cast<double>(gradient[i]) * s.clip_factor) : gradient[i];
    const float m = s.beta1 * mean[i] + s.fresh1 * g;
    const float v = s.beta2 * square[i] + s.fresh2 * (g * g);
    const float denominator = __builtin_sqrtf(v) / s.root_correction + s.epsilon;
    mean[i] = m;
    square[i] = v;
    values[i] = values[i] * s.keep - s.step_size * (m / denominator);
  }
}

}  // namespace

void adamw_step(const AdamwScalars& scalars, const float* gradient, float* mean, float* square, float* values,
                std::int64_t count) {
  if (scalars.clip_factor == 1.0) {
    step<false>(scalars, gradient, mean, square, values, count);
  } else {
    step<true>(scalars, gradient, mean, square, values, count);
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

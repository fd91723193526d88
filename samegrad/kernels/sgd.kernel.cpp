#include "samegrad/kernels/sgd.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {
namespace {

template <bool kClips>
void plain(SgdScalars s, const float* __restrict gradient, float* __restrict values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = kClips ? static_cast<float>(static_cast<double>(gradient[i]) * s.clip_factor) : gradient[i];
    values[i] = values[i] - s.rate * (g + s.decay * values[i]);
  }
}

template <bool kClips>
void with_momentum(SgdScalars s, const float* __restrict gradient, float* __restrict buffer, float* __restrict values,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = kClips ? static_cast<float>(static_cast<double>(gradient[i]) * s.clip_factor) : gradient[i];
    const float moved = s.momentum * buffer[i] + (g + s.decay * values[i]);
    buffer[i] = moved;
    values[i] = values[i] - s.rate * moved;
  }
}

}  // namespace

void sgd_step(const SgdScalars& scalars, const float* gradient, float* values, std::int64_t count) {
  if (scalars.clip_factor == 1.0) {
    plain<false>(scalars, gradient, values, count);
  } else {
    plain<true>(scalars, gradient, values, count);
  }
}

void momentum_step(const SgdScalars& scalars, const float* gradient, float* buffer, float* values, std::int64_t count) {
  if (scalars.clip_factor == 1.0) {
    with_momentum<false>(scalars, gradient, buffer, values, count);
  } else {
    with_momentum<true>(scalars, gradient, buffer, values, count);
  }
}

}  // namespace samegrad::SAMEGRAD_ISA

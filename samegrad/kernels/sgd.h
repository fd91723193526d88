// One step of SGD over flat memory, without and with momentum.
#pragma once

#include <cstdint>

namespace samegrad {

/// The scalars of one step, each but the last rounded once from a double (train/optimizer.cpp).
struct SgdScalars {
  float rate;
  float decay;
  float momentum;
  double clip_factor = 1.0;
};

/// For each of `count` elements (as torch.optim.SGD orders it): g = float(double(gradient) clip_factor); value = value
/// - rate (g + decay value), each operation rounded to float: the same bits for every set of instructions. The arrays
/// do not overlap. Local.
void sgd_step(const SgdScalars& scalars, const float* gradient, float* values, std::int64_t count);

/// buffer = momentum buffer + (g + decay value); value = value - rate buffer. Else as sgd_step. Local.
void momentum_step(const SgdScalars& scalars, const float* gradient, float* buffer, float* values, std::int64_t count);

}  // namespace samegrad

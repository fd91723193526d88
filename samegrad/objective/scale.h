// The one place that says by what a loss or a gradient is multiplied or divided. Nothing else in samegrad divides by a
// count, the accumulation or the number of processes.
#pragma once

#include <cstdint>

namespace samegrad {

/// How a gradient exchange combines the ranks' gradients.
enum class GradientReduction {
  kWindow,  ///< samegrad's own: the canonical tree of sums, divided once after it
  kMean,    ///< PyTorch DDP's: the mean over ranks
  kSum,     ///< the plain sum over ranks
};

/// The factor on a rank's loss *sum* before backward with which the exchanged gradient is that of the global mean:
/// kWindow 1, kMean W / N (the lesson's W * S_r / N), kSum 1 / N. Requires N > 0. Local.
double loss_sum_factor(GradientReduction reduction, std::int64_t world_size, double global_count);

/// What the exchanged gradient is divided by, once: kWindow N, else 1. Local.
double gradient_divisor(GradientReduction reduction, double global_count);

/// What `tokens` of a unit's `unit_tokens` tokens have of its weight: unit_weight * (tokens / unit_tokens); the
/// whole weight, exactly, for all of them. Requires unit_tokens > 0. Local.
double share_of_unit(double unit_weight, std::int64_t tokens, std::int64_t unit_tokens);

/// What the sum over ranks is divided by outside a window: kMean W, kSum 1. Local.
double exchange_divisor(GradientReduction reduction, std::int64_t world_size);

/// dtype(double(gradient) / divisor) for each element: the division of the contract. Local.
void divide_gradient(float* gradient, std::int64_t elements, double divisor);
void divide_gradient(double* gradient, std::int64_t elements, double divisor);

}  // namespace samegrad

// The independent path: what the gradient of a window is when one process computes it in the ordinary way.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/data/sample.h"

namespace samegrad {

struct ReferenceResult {
  double loss_sum = 0.0;               ///< S of the units: sum of the weighed cross-entropies of the supervised tokens
  double divisor = 0.0;                ///< N
  std::int64_t units = 0;              ///< number of units (of a constant: it), which is N where they are not weighted
  std::int64_t supervised_tokens = 0;  ///< of all samples
  std::vector<at::Tensor> gradients;  ///< of S / N and the other terms, in the order of parameter_specs(), in the asked
                                      ///< dtype, contiguous
};

/// Gradient of the objective's loss over `window`, computed in `dtype` (float32 or float64) from copies of `parameters`
/// by padded batches, ordinary operations and no dropout (train/padded_model.h). What a token weighs and what N is are
/// worked out here from the samples themselves, by no code of objective/. Throws RunError when N is 0. Local.
ReferenceResult reference_gradient(const ModelConfig& config, const ObjectiveConfig& objective,
                                   const std::vector<at::Tensor>& parameters, at::ScalarType dtype,
                                   std::span<const Sample> window);

}  // namespace samegrad

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
  double loss_sum = 0.0;              ///< S: sum of the cross-entropies of the supervised tokens
  std::int64_t count = 0;             ///< N: number of supervised tokens
  std::vector<at::Tensor> gradients;  ///< of S / N, in the order of parameter_specs(), in the asked dtype,
                                      ///< contiguous
};

/// Gradient of the mean loss over all supervised tokens of `window`, computed in `dtype` (float32 or float64) from
/// copies of `parameters` by padded batches, ordinary operations and no dropout (train/padded_model.h). Throws RunError
/// when no token is supervised. Local.
ReferenceResult reference_gradient(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                   at::ScalarType dtype, std::span<const Sample> window);

}  // namespace samegrad

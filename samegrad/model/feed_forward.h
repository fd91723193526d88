// The position-wise half of a Transformer layer, and its normalisation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "samegrad/model/dropout.h"
#include "samegrad/model/layer_parameters.h"

namespace samegrad {

/// linear2(dropout(gelu(linear1(x)))) with the exact (erf) GELU, then dropout. x: [tokens, width]. Local.
at::Tensor feed_forward(const at::Tensor& x, const LayerParameters& parameters, const Dropout& dropout,
                        std::int64_t layer);

/// Layer normalisation over the last dimension with PyTorch's epsilon, 1e-5. Local.
at::Tensor normalise(const at::Tensor& x, const NormParameters& parameters);

}  // namespace samegrad

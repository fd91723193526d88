// The position-wise half of a Transformer layer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "samegrad/model/dropout.h"
#include "samegrad/model/layer_parameters.h"

namespace samegrad {

/// linear2(dropout(gelu(linear1(x)))) with the exact (erf) GELU, then dropout. x: [tokens, width]. Backward keeps the
/// inner layer's values and its slopes, with the dropout in both. Local.
at::Tensor feed_forward(const at::Tensor& x, const LayerParameters& parameters, const Dropout& dropout,
                        std::int64_t layer);

}  // namespace samegrad

// Multi-head self-attention over packed rows: each sample sees only itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "samegrad/model/dropout.h"
#include "samegrad/model/layer_parameters.h"

namespace samegrad {

struct AttentionShape {
  std::int64_t heads = 1;
  bool causal = false;  ///< a token sees itself and the tokens before it
};

/// The attention block of nn.TransformerEncoderLayer without its residual: in-projection, scaled dot-product attention
/// per sample, out-projection, and dropout on the attention weights and on the result. x: [tokens, width], sample s is
/// rows offsets[s]..offsets[s+1]-1. Returns [tokens, width]. Local.
at::Tensor self_attention(const at::Tensor& x, std::span<const std::int64_t> offsets, const LayerParameters& parameters,
                          AttentionShape shape, const Dropout& dropout, std::int64_t layer);

}  // namespace samegrad

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

/// softmax(q k' / sqrt(head width)) v of each sample and head, with dropout on the weights, as one operation with its
/// own backward; memory grows with tokens, not with the square of a length. qkv: [tokens, 3 x width], rows of the
/// in-projection, float32 or float64 on the CPU (InputError for others). Returns [tokens, width]. It has no gradient of
/// its gradient: InputError in a backward with create_graph. Local.
at::Tensor packed_attention(const at::Tensor& qkv, std::span<const std::int64_t> offsets, AttentionShape shape,
                            const Dropout& dropout, std::int64_t layer);

/// The attention block of nn.TransformerEncoderLayer without its residual: in-projection, scaled dot-product attention
/// per sample, out-projection, and dropout on the attention weights and on the result. x: [tokens, width], sample s is
/// rows offsets[s]..offsets[s+1]-1. Returns [tokens, width]. Local.
at::Tensor self_attention(const at::Tensor& x, std::span<const std::int64_t> offsets, const LayerParameters& parameters,
                          AttentionShape shape, const Dropout& dropout, std::int64_t layer);

}  // namespace samegrad

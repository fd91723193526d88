#include "samegrad/model/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>
#include <vector>

#include "samegrad/model/linear.h"

namespace samegrad {
namespace {

/// softmax(q k' / sqrt(d)) with dropout on the weights, then times v; all [1, heads, length, d].
at::Tensor attention_with_dropout(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                                  const Dropout& dropout, DropoutOperation operation, std::int64_t first_element) {
  at::Tensor scores = at::matmul(q, k.transpose(-2, -1)) * (1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  if (causal) {
    const at::Tensor later = at::ones({q.size(-2), q.size(-2)}, q.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(dropout(at::softmax(scores, -1), operation, first_element), v);
}

}  // namespace

at::Tensor self_attention(const at::Tensor& x, std::span<const std::int64_t> offsets, const LayerParameters& parameters,
                          AttentionShape shape, const Dropout& dropout, std::int64_t layer) {
  const std::int64_t tokens = x.size(0);
  const std::int64_t width = x.size(1);
  const at::Tensor qkv = linear(x, parameters.in_projection)
                             .view({tokens, 3, shape.heads, width / shape.heads})
                             .permute({1, 2, 0, 3});  // [3, heads, tokens, head width]
  std::vector<std::int64_t> lengths;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) lengths.push_back(offsets[s + 1] - offsets[s]);

  std::vector<at::Tensor> rows;
  std::int64_t first_weight = 0;
  // One split for all samples: its backward is one concatenation, where narrow()'s is a full-sized tensor per sample.
  for (const at::Tensor& sample : qkv.split_with_sizes(lengths, 2)) {
    const std::vector<at::Tensor> parts = sample.unsqueeze(1).unbind(0);
    const std::int64_t length = sample.size(2);
    const at::Tensor mixed = dropout.active()
                                 ? attention_with_dropout(parts[0], parts[1], parts[2], shape.causal, dropout,
                                                          {layer, DropoutPlace::kAttentionWeights}, first_weight)
                                 : at::scaled_dot_product_attention(parts[0], parts[1], parts[2], /*attn_mask=*/{},
                                                                    /*dropout_p=*/0.0, shape.causal);
    first_weight += shape.heads * length * length;
    rows.push_back(mixed.squeeze(0).transpose(0, 1).reshape({length, width}));
  }
  const at::Tensor mixed = at::cat(rows, 0);
  return dropout(linear(mixed, parameters.out_projection), {layer, DropoutPlace::kAttention});
}

}  // namespace samegrad

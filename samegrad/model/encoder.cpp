#include "samegrad/model/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>

#include "samegrad/ddp/recompute.h"
#include "samegrad/model/attention.h"
#include "samegrad/model/dropout.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"

namespace samegrad {

Encoder::Encoder(const ModelConfig& config, std::span<const at::Tensor> parameters)
    : heads_(config.heads), dropout_(config.dropout), recomputed_(config.gradient_checkpointing) {
  ParameterCursor cursor(parameters);
  token_ = cursor.tensor();
  position_ = cursor.tensor();
  layers_ = cursor.layers(config.layers);
  head_ = cursor.linear();
}

at::Tensor Encoder::logits(const PackedBatch& batch, const std::optional<DropoutKey>& key) const {
  const Dropout dropout(dropout_, key);
  at::Tensor x = embed(batch, token_, position_);
  for (std::int64_t i = 0; const LayerParameters& layer : layers_) {
    const auto run = [=, offsets = batch.offsets, heads = heads_](const at::Tensor& in) {
      const at::Tensor mixed =
          normalise(in + self_attention(in, offsets, layer, {heads, /*causal=*/false}, dropout, i), layer.norm1);
      return normalise(mixed + feed_forward(mixed, layer, dropout, i), layer.norm2);
    };
    x = recomputed_ ? recompute(run, x) : run(x);
    ++i;
  }
  return at::linear(x, head_.weight, head_.bias);
}

}  // namespace samegrad

#include "samegrad/model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>

#include "samegrad/ddp/recompute.h"
#include "samegrad/model/attention.h"
#include "samegrad/model/dropout.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"

namespace samegrad {

Decoder::Decoder(const ModelConfig& config, std::span<const at::Tensor> parameters)
    : heads_(config.heads), dropout_(config.dropout), recomputed_(config.gradient_checkpointing) {
  ParameterCursor cursor(parameters);
  token_ = cursor.tensor();
  position_ = cursor.tensor();
  layers_ = cursor.layers(config.layers);
  norm_ = cursor.norm();
  head_ = cursor.linear();
}

at::Tensor Decoder::logits(const PackedBatch& batch, const std::optional<DropoutKey>& key) const {
  const Dropout dropout(dropout_, key);
  at::Tensor x = embed(batch, token_, position_);
  for (std::int64_t i = 0; const LayerParameters& layer : layers_) {
    const auto run = [=, offsets = batch.offsets, heads = heads_](const at::Tensor& in) {
      const at::Tensor mixed =
          in + self_attention(normalise(in, layer.norm1), offsets, layer, {heads, /*causal=*/true}, dropout, i);
      return mixed + feed_forward(normalise(mixed, layer.norm2), layer, dropout, i);
    };
    x = recomputed_ ? recompute(run, x) : run(x);
    ++i;
  }
  return at::linear(normalise(x, norm_), head_.weight, head_.bias);
}

}  // namespace samegrad

#include "samegrad/model/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>

#include "samegrad/model/attention.h"
#include "samegrad/model/dropout.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"

namespace samegrad {

Encoder::Encoder(const ModelConfig& config, std::span<const at::Tensor> parameters)
    : heads_(config.heads), dropout_(config.dropout) {
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
    x = normalise(x + self_attention(x, batch.offsets, layer, {heads_, /*causal=*/false}, dropout, i), layer.norm1);
    x = normalise(x + feed_forward(x, layer, dropout, i), layer.norm2);
    ++i;
  }
  return at::linear(x, head_.weight, head_.bias);
}

}  // namespace samegrad

#include "samegrad/model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>

#include "samegrad/model/attention.h"
#include "samegrad/model/dropout.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"

namespace samegrad {

Decoder::Decoder(const ModelConfig& config, std::span<const at::Tensor> parameters)
    : heads_(config.heads), dropout_(config.dropout) {
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
    x = x + self_attention(normalise(x, layer.norm1), batch.offsets, layer, {heads_, /*causal=*/true}, dropout, i);
    x = x + feed_forward(normalise(x, layer.norm2), layer, dropout, i);
    ++i;
  }
  return at::linear(normalise(x, norm_), head_.weight, head_.bias);
}

}  // namespace samegrad

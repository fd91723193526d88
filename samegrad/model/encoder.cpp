#include "samegrad/model/encoder.h"

#include "samegrad/ddp/recompute.h"
#include "samegrad/model/attention.h"
#include "samegrad/model/dropout.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"
#include "samegrad/model/head_sums.h"
#include "samegrad/model/linear.h"
#include "samegrad/model/norm.h"

namespace samegrad {

Encoder::Encoder(const ModelConfig& config, std::span<const at::Tensor> parameters)
    : heads_(config.heads), dropout_(config.dropout), recomputed_(config.gradient_checkpointing) {
  ParameterCursor cursor(parameters);
  token_ = cursor.tensor();
  position_ = cursor.tensor();
  layers_ = cursor.layers(config.layers);
  head_ = cursor.linear();
}

at::Tensor Encoder::hidden(const PackedBatch& batch, const std::optional<DropoutKey>& key) const {
  const Dropout dropout(dropout_, key);
  at::Tensor x = embed(batch, token_, position_);
  for (std::int64_t i = 0; const LayerParameters& layer : layers_) {
    const auto run = [=, offsets = batch.offsets, heads = heads_](const at::Tensor& in) {
      const at::Tensor mixed =
          normalise_sum(in, self_attention(in, offsets, layer, {heads, /*causal=*/false}, dropout, i), layer.norm1);
      return normalise_sum(mixed, feed_forward(mixed, layer, dropout, i), layer.norm2);
    };
    x = recomputed_ ? recompute(run, x) : run(x);
    ++i;
  }
  return x;
}

at::Tensor Encoder::logits(const PackedBatch& batch, const std::optional<DropoutKey>& key) const {
  return linear(hidden(batch, key), head_);
}

Model::LossAndZ Encoder::sums(const PackedBatch& batch, const std::optional<DropoutKey>& key, bool with_z) const {
  return head_sums(hidden(batch, key), head_, batch, with_z);
}

}  // namespace samegrad

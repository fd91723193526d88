// The lesson's model: nn.TransformerEncoder (bidirectional, post-norm) that classifies every token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "samegrad/model/layer_parameters.h"
#include "samegrad/model/model.h"

namespace samegrad {

class Encoder final : public Model {
 public:
  /// Requires parameters that match parameter_specs(config). Local.
  Encoder(const ModelConfig& config, std::span<const at::Tensor> parameters);

  at::Tensor logits(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const override;

 protected:
  LossAndZ sums(const PackedBatch& batch, const std::optional<DropoutKey>& dropout, bool with_z) const override;

 private:
  /// What the head turns into logits: [tokens, width].
  at::Tensor hidden(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const;

  std::int64_t heads_;
  double dropout_;
  bool recomputed_;
  at::Tensor token_;
  at::Tensor position_;
  std::vector<LayerParameters> layers_;
  LinearParameters head_;
};

}  // namespace samegrad

#include "samegrad/model/model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "samegrad/base/check.h"
#include "samegrad/model/decoder.h"
#include "samegrad/model/encoder.h"
#include "samegrad/model/parameter_spec.h"

namespace samegrad {

namespace {

at::Tensor weighed_sum(const at::Tensor& logits, const PackedBatch& batch) {
  const at::Tensor targets = at::tensor(batch.targets, at::kLong);
  const at::Tensor losses = at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::None, kIgnoreTarget);
  if (batch.weights.empty()) return at::sum(losses, at::kDouble);
  return at::sum(losses.to(at::kDouble) * at::tensor(batch.weights, at::kDouble));
}

}  // namespace

at::Tensor Model::loss_sum(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const {
  if (batch.tokens() == 0) return at::zeros({}, at::kDouble);
  return weighed_sum(logits(batch, dropout), batch);
}

Model::LossAndZ Model::loss_and_z_sums(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const {
  if (batch.tokens() == 0) return {at::zeros({}, at::kDouble), at::zeros({}, at::kDouble)};
  const at::Tensor logits = this->logits(batch, dropout);
  const at::Tensor supervised = at::tensor(batch.targets, at::kLong).ne(kIgnoreTarget);
  const at::Tensor z = at::logsumexp(logits, {1}).to(at::kDouble) * supervised;
  return {weighed_sum(logits, batch), at::sum(z * z)};
}

std::unique_ptr<Model> make_model(const ModelConfig& config, std::vector<at::Tensor> parameters) {
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  SAMEGRAD_CHECK_OP(parameters.size(), ==, specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    SAMEGRAD_CHECK_OP(parameters[i].sizes(), ==, at::IntArrayRef(specs[i].shape));
    SAMEGRAD_CHECK_OP(parameters[i].scalar_type(), ==, parameters[0].scalar_type());
  }
  if (config.kind == "decoder") return std::make_unique<Decoder>(config, parameters);
  return std::make_unique<Encoder>(config, parameters);
}

}  // namespace samegrad

#include "samegrad/model/model.h"

#include <ATen/ops/zeros.h>

#include "samegrad/base/check.h"
#include "samegrad/model/decoder.h"
#include "samegrad/model/encoder.h"
#include "samegrad/model/parameter_spec.h"

namespace samegrad {

at::Tensor Model::loss_sum(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const {
  if (batch.tokens() == 0) return at::zeros({}, at::kDouble);
  return sums(batch, dropout, /*with_z=*/false).loss;
}

Model::LossAndZ Model::loss_and_z_sums(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const {
  if (batch.tokens() == 0) return {at::zeros({}, at::kDouble), at::zeros({}, at::kDouble)};
  return sums(batch, dropout, /*with_z=*/true);
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

#include "samegrad/model/layer_parameters.h"

#include "samegrad/base/check.h"

namespace samegrad {

// Braced initialisers are evaluated left to right, which is the canonical order.

at::Tensor ParameterCursor::tensor() {
  SAMEGRAD_CHECK_OP(next_, <, parameters_.size());
  return parameters_[next_++];
}

LinearParameters ParameterCursor::linear() { return {tensor(), tensor()}; }

NormParameters ParameterCursor::norm() { return {tensor(), tensor()}; }

LayerParameters ParameterCursor::layer() { return {linear(), linear(), linear(), linear(), norm(), norm()}; }

std::vector<LayerParameters> ParameterCursor::layers(std::int64_t count) {
  std::vector<LayerParameters> layers;
  for (std::int64_t i = 0; i < count; ++i) layers.push_back(layer());
  return layers;
}

}  // namespace samegrad

#include "samegrad/model/feed_forward.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

namespace samegrad {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

at::Tensor feed_forward(const at::Tensor& x, const LayerParameters& parameters, const Dropout& dropout,
                        std::int64_t layer) {
  const at::Tensor inner = at::gelu(at::linear(x, parameters.linear1.weight, parameters.linear1.bias));
  const at::Tensor outer = at::linear(dropout(inner, {layer, DropoutPlace::kInnerFeedForward}),
                                      parameters.linear2.weight, parameters.linear2.bias);
  return dropout(outer, {layer, DropoutPlace::kFeedForward});
}

at::Tensor normalise(const at::Tensor& x, const NormParameters& parameters) {
  return at::layer_norm(x, parameters.weight.sizes(), parameters.weight, parameters.bias, kEpsilon);
}

}  // namespace samegrad

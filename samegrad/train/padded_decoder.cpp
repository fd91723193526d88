#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "samegrad/base/check.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/train/padded_model.h"

namespace samegrad {
namespace {

at::Tensor exact_gelu(const at::Tensor& x) { return 0.5 * x * (1.0 + at::erf(x / std::sqrt(2.0))); }

/// exp(x) / sum exp(x) over the last dimension; masked entries are -infinity.
at::Tensor masked_softmax(const at::Tensor& x) {
  const at::Tensor e = at::exp(x - x.amax(-1, /*keepdim=*/true).detach());
  return e / e.sum(-1, /*keepdim=*/true);
}

class PaddedDecoder final : public PaddedModel {
 public:
  PaddedDecoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters, at::ScalarType dtype)
      : config_(config) {
    const std::vector<ParameterSpec> specs = parameter_specs(config);
    SAMEGRAD_CHECK_OP(parameters.size(), ==, specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const at::Tensor copy = parameters[i].detach().to(dtype, /*non_blocking=*/false, /*copy=*/true);
      parameters_.push_back(copy.requires_grad_());
      named_[specs[i].name] = parameters_.back();
    }
  }

  at::Tensor logits(const at::Tensor& ids, const at::Tensor& padding) const override {
    const std::int64_t batch = ids.size(0);
    const std::int64_t length = ids.size(1);
    const at::Tensor mask = attention_mask(padding);
    at::Tensor x = at::index_select(named_.at("token.weight"), 0, ids.flatten()).view({batch, length, config_.width}) +
                   named_.at("position.weight").slice(0, 0, length);
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      const std::string layer = "decoder.layers." + std::to_string(i) + ".";
      x = x + attention(norm(x, layer + "norm1"), mask, layer + "self_attn.");
      x = x + linear(exact_gelu(linear(norm(x, layer + "norm2"), layer + "linear1.")), layer + "linear2.");
    }
    return linear(norm(x, "norm"), "head.");
  }

  std::vector<at::Tensor> parameters() const override { return parameters_; }

 private:
  /// [batch, 1, query, key]: 0 where the key is a token not after the query, else -infinity.
  at::Tensor attention_mask(const at::Tensor& padding) const {
    const at::Tensor place = at::arange(padding.size(1), at::kLong);
    const at::Tensor later = place.unsqueeze(0) > place.unsqueeze(1);
    const at::Tensor hidden = later.unsqueeze(0).logical_or(padding.unsqueeze(1)).unsqueeze(1);
    return at::zeros(hidden.sizes(), parameters_[0].options().requires_grad(false))
        .masked_fill(hidden, -std::numeric_limits<double>::infinity());
  }

  at::Tensor linear(const at::Tensor& x, const std::string& prefix) const {
    return at::matmul(x, named_.at(prefix + "weight").t()) + named_.at(prefix + "bias");
  }

  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor centred = x - x.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = (centred * centred).mean(-1, /*keepdim=*/true);
    return centred / at::sqrt(variance + 1e-5) * named_.at(name + ".weight") + named_.at(name + ".bias");
  }

  at::Tensor attention(const at::Tensor& x, const at::Tensor& mask, const std::string& prefix) const {
    const at::Tensor projected =
        at::matmul(x, named_.at(prefix + "in_proj_weight").t()) + named_.at(prefix + "in_proj_bias");
    const std::int64_t head_width = config_.width / config_.heads;
    const auto heads = [&](std::int64_t part) {  // [batch, heads, length, head width]
      return projected.slice(2, part * config_.width, (part + 1) * config_.width)
          .unflatten(2, {config_.heads, head_width})
          .transpose(1, 2);
    };
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_width));
    const at::Tensor weights = masked_softmax(at::matmul(heads(0), heads(1).transpose(2, 3)) * scale + mask);
    return linear(at::matmul(weights, heads(2)).transpose(1, 2).flatten(2), prefix + "out_proj.");
  }

  ModelConfig config_;
  std::vector<at::Tensor> parameters_;
  std::map<std::string, at::Tensor> named_;
};

}  // namespace

std::unique_ptr<PaddedModel> make_padded_decoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                                 at::ScalarType dtype) {
  return std::make_unique<PaddedDecoder>(config, parameters, dtype);
}

}  // namespace samegrad

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>

#include "samegrad/base/check.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/train/padded_model.h"

namespace samegrad {
namespace {

torch::nn::TransformerEncoder transformer_encoder(const ModelConfig& config) {
  const auto layer = torch::nn::TransformerEncoderLayerOptions(config.width, config.heads)
                         .dim_feedforward(config.feed_forward)
                         .dropout(0.0)
                         .activation(torch::kGELU);
  return torch::nn::TransformerEncoder(torch::nn::TransformerEncoderOptions(layer, config.layers));
}

/// Its named parameters carry the names of parameter_specs() because those are PyTorch's.
struct EncoderModule : torch::nn::Module {
  explicit EncoderModule(const ModelConfig& config)
      : token(register_module("token", torch::nn::Embedding(config.vocabulary, config.width))),
        position(register_module("position", torch::nn::Embedding(config.positions, config.width))),
        encoder(register_module("encoder", transformer_encoder(config))),
        head(register_module("head", torch::nn::Linear(config.width, config.classes))) {}

  torch::nn::Embedding token;
  torch::nn::Embedding position;
  torch::nn::TransformerEncoder encoder;
  torch::nn::Linear head;
};

class PaddedEncoder final : public PaddedModel {
 public:
  PaddedEncoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters, at::ScalarType dtype)
      : module_(std::make_shared<EncoderModule>(config)) {
    module_->to(dtype);
    const auto named = module_->named_parameters();
    const std::vector<ParameterSpec> specs = parameter_specs(config);
    SAMEGRAD_CHECK_OP(named.size(), ==, specs.size());
    SAMEGRAD_CHECK_OP(parameters.size(), ==, specs.size());
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      parameters_.push_back(named[specs[i].name]);
      parameters_.back().copy_(parameters[i]);
    }
  }

  at::Tensor logits(const at::Tensor& ids, const at::Tensor& padding) const override {
    const at::Tensor positions = at::arange(ids.size(1), at::kLong);
    const at::Tensor x = module_->token->forward(ids) + module_->position->forward(positions);
    // torch::nn's layers in C++ want [length, batch, width].
    const at::Tensor y = module_->encoder->forward(x.transpose(0, 1), /*src_mask=*/{}, padding);
    return module_->head->forward(y.transpose(0, 1));
  }

  std::vector<at::Tensor> parameters() const override { return parameters_; }

 private:
  std::shared_ptr<EncoderModule> module_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace

std::unique_ptr<PaddedModel> make_padded_encoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                                 at::ScalarType dtype) {
  return std::make_unique<PaddedEncoder>(config, parameters, dtype);
}

}  // namespace samegrad

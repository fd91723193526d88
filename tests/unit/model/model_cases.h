// Models, parameters and samples that the tests of model and train share.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "samegrad/base/philox.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/sample.h"
#include "samegrad/model/model.h"
#include "samegrad/model/parameter_spec.h"

namespace samegrad {

inline ModelConfig encoder_config(std::int64_t width = 32) {
  return {.kind = "encoder",
          .layers = 2,
          .width = width,
          .heads = 4,
          .feed_forward = 2 * width,
          .vocabulary = 11,
          .positions = 40,
          .classes = 5};
}

inline ModelConfig decoder_config(std::int64_t width = 32) {
  ModelConfig config = encoder_config(width);
  config.kind = "decoder";
  return config;
}

/// Uniform in [-1, 1), a function of (seed, which, i).
inline double test_noise(std::uint32_t seed, std::uint32_t which, std::uint32_t i) {
  return 2.0 * static_cast<double>(philox4x32({i, which, 0, 0}, {seed, 0x7E57})[0]) * 0x1.0p-32 - 1.0;
}

/// Leaves in general position: no zero bias, no unit norm, weights that give losses far from ln(choices).
inline std::vector<at::Tensor> random_parameters(const ModelConfig& config, at::ScalarType dtype,
                                                 std::uint32_t seed = 1) {
  std::vector<at::Tensor> parameters;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    at::Tensor values = at::empty(spec.shape, at::kDouble);
    const double scale = spec.shape.size() == 2 ? std::sqrt(3.0 / static_cast<double>(spec.shape[1])) : 0.3;
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      values.mutable_data_ptr<double>()[i] =
          (spec.init == InitRule::kOne ? 1.0 : 0.0) +
          scale * test_noise(seed, static_cast<std::uint32_t>(parameters.size()), static_cast<std::uint32_t>(i));
    }
    parameters.push_back(values.to(dtype).requires_grad_());
  }
  return parameters;
}

/// One sample per length; about a third of the targets is not supervised.
inline std::vector<Sample> random_samples(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
                                          std::uint32_t seed = 7) {
  const std::int64_t choices = config.kind == "decoder" ? config.vocabulary : config.classes;
  std::vector<Sample> samples;
  for (const std::int64_t length : lengths) {
    Sample sample;
    sample.id = static_cast<std::int64_t>(samples.size());
    for (std::int64_t t = 0; t < length; ++t) {
      const auto bits =
          philox4x32({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(sample.id), 0, 0}, {seed, 1});
      sample.inputs.push_back(static_cast<std::int32_t>(bits[0] % static_cast<std::uint32_t>(config.vocabulary)));
      sample.targets.push_back(
          bits[2] % 3 == 0 ? kIgnoreTarget : static_cast<std::int32_t>(bits[1] % static_cast<std::uint32_t>(choices)));
    }
    samples.push_back(sample);
  }
  return samples;
}

/// d S / d parameters; zeros where a parameter takes no part.
inline std::vector<at::Tensor> gradients_of(const at::Tensor& loss_sum, const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
  loss_sum.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::zeros_like(parameter));
  }
  return gradients;
}

}  // namespace samegrad

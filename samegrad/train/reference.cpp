#include "samegrad/train/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>
#include <memory>

#include "samegrad/base/error.h"
#include "samegrad/train/padded_model.h"

namespace samegrad {
namespace {

constexpr std::size_t kBatchSize = 16;

/// Samples below one another, each filled up to the longest.
struct PaddedBatch {
  at::Tensor ids;      ///< int64 [batch, length], 0 where there is no token
  at::Tensor padding;  ///< bool [batch, length], true where there is no token
  at::Tensor targets;  ///< int64 [batch, length], kIgnoreTarget where nothing is supervised
  at::Tensor weights;  ///< float64 [batch, length], of each target's loss
};

/// How much a token of each unit weighs, and N.
struct WindowWeights {
  std::vector<double> of_sample;  ///< [samples], of each of its tokens, before its class
  double divisor = 0.0;
  std::int64_t units = 0;
};

double class_weight(const ObjectiveConfig& objective, std::int32_t target) {
  if (target == kIgnoreTarget) return 0.0;
  return objective.class_weights.empty() ? 1.0 : objective.class_weights.at(static_cast<std::size_t>(target));
}

/// The unit that sample `s` belongs to: samples of one document share the first one's, else each is its own.
std::vector<std::size_t> unit_of_samples(const ObjectiveConfig& objective, std::span<const Sample> samples) {
  std::map<std::uint64_t, std::size_t> first_of_document;
  std::vector<std::size_t> units;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const bool shared = objective.unit == "document" && samples[s].document != 0;
    units.push_back(shared ? first_of_document.emplace(samples[s].document, s).first->second : s);
  }
  return units;
}

WindowWeights weigh(const ObjectiveConfig& objective, std::span<const Sample> samples) {
  WindowWeights weights;
  const bool by_unit = objective.unit == "sequence" || objective.unit == "document";
  const std::vector<std::size_t> unit_of = unit_of_samples(objective, samples);
  std::map<std::size_t, std::int64_t> tokens_of_unit;
  for (std::size_t s = 0; s < samples.size(); ++s) tokens_of_unit[unit_of[s]] += samples[s].supervised_tokens();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    const std::int64_t tokens = tokens_of_unit[unit_of[s]];
    weights.of_sample.push_back(by_unit && tokens > 0 ? sample.weight / static_cast<double>(tokens) : sample.weight);
    if (by_unit && unit_of[s] == s && tokens > 0) {
      weights.divisor += sample.weight;
      ++weights.units;
    }
    if (by_unit) continue;
    weights.units += sample.supervised_tokens();
    for (const std::int32_t target : sample.targets) weights.divisor += sample.weight * class_weight(objective, target);
  }
  if (objective.unit == "constant" && weights.divisor > 0.0) {
    weights.units = objective.constant;
    weights.divisor = static_cast<double>(objective.constant);
  }
  return weights;
}

PaddedBatch pad(const ObjectiveConfig& objective, std::span<const Sample> samples, std::span<const double> weights) {
  std::size_t longest = 0;
  for (const Sample& sample : samples) longest = std::max(longest, sample.inputs.size());
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(longest)};
  PaddedBatch batch{at::full(shape, 0, at::kLong), at::ones(shape, at::kBool),
                    at::full(shape, kIgnoreTarget, at::kLong), at::full(shape, 0.0, at::kDouble)};
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t t = 0; t < samples[s].inputs.size(); ++t) {
      const std::size_t cell = s * longest + t;
      batch.ids.mutable_data_ptr<std::int64_t>()[cell] = samples[s].inputs[t];
      batch.padding.mutable_data_ptr<bool>()[cell] = false;
      batch.targets.mutable_data_ptr<std::int64_t>()[cell] = samples[s].targets[t];
      batch.weights.mutable_data_ptr<double>()[cell] = weights[s] * class_weight(objective, samples[s].targets[t]);
    }
  }
  return batch;
}

std::unique_ptr<PaddedModel> make_padded_model(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                               at::ScalarType dtype) {
  return config.kind == "decoder" ? make_padded_decoder(config, parameters, dtype)
                                  : make_padded_encoder(config, parameters, dtype);
}

}  // namespace

ReferenceResult reference_gradient(const ModelConfig& config, const ObjectiveConfig& objective,
                                   const std::vector<at::Tensor>& parameters, at::ScalarType dtype,
                                   std::span<const Sample> window) {
  ReferenceResult result;
  std::vector<Sample> samples;
  for (const Sample& sample : window) {
    if (!sample.inputs.empty()) samples.push_back(sample);
    result.supervised_tokens += sample.supervised_tokens();
  }
  if (result.supervised_tokens == 0) {
    throw RunError("reference", "window: 0 supervised tokens, a mean needs at least 1; check the data's labels");
  }
  const WindowWeights weights = weigh(objective, samples);
  if (weights.divisor <= 0.0) {
    throw RunError("reference",
                   "window: every supervised token weighs 0, a mean needs a weight above 0; check the "
                   "data's weights and objective.class_weights");
  }
  result.units = weights.units;
  result.divisor = weights.divisor;

  const std::unique_ptr<PaddedModel> model = make_padded_model(config, parameters, dtype);
  for (std::size_t begin = 0; begin < samples.size(); begin += kBatchSize) {
    const std::size_t size = std::min(kBatchSize, samples.size() - begin);
    const PaddedBatch batch =
        pad(objective, std::span(samples).subspan(begin, size), std::span(weights.of_sample).subspan(begin, size));
    const at::Tensor logits = model->logits(batch.ids, batch.padding).flatten(0, 1);
    const at::Tensor log_probabilities = at::log_softmax(logits, 1);
    const at::Tensor losses =
        at::nll_loss(log_probabilities, batch.targets.flatten(), /*weight=*/{}, at::Reduction::None, kIgnoreTarget);
    const at::Tensor sum = (losses.to(at::kDouble) * batch.weights.flatten()).sum();
    result.loss_sum += sum.item<double>();
    at::Tensor loss = sum / result.divisor;
    if (objective.z_loss > 0.0) {
      const at::Tensor z = at::logsumexp(logits, {1}).to(at::kDouble);
      const at::Tensor supervised = batch.targets.flatten().ne(kIgnoreTarget);
      loss = loss + objective.z_loss * (z * z * supervised).sum() / static_cast<double>(result.supervised_tokens);
    }
    loss.backward();
  }
  if (objective.l2 > 0.0) {
    for (const at::Tensor& parameter : model->parameters()) {
      (0.5 * objective.l2 * parameter.to(at::kDouble).pow(2).sum()).backward();
    }
  }
  for (const at::Tensor& parameter : model->parameters()) {
    result.gradients.push_back(parameter.grad().defined() ? parameter.grad().contiguous() : at::zeros_like(parameter));
  }
  return result;
}

}  // namespace samegrad

#include "samegrad/train/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
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
};

PaddedBatch pad(std::span<const Sample> samples) {
  std::size_t longest = 0;
  for (const Sample& sample : samples) longest = std::max(longest, sample.inputs.size());
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(longest)};
  PaddedBatch batch{at::full(shape, 0, at::kLong), at::ones(shape, at::kBool),
                    at::full(shape, kIgnoreTarget, at::kLong)};
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t t = 0; t < samples[s].inputs.size(); ++t) {
      const std::size_t cell = s * longest + t;
      batch.ids.mutable_data_ptr<std::int64_t>()[cell] = samples[s].inputs[t];
      batch.padding.mutable_data_ptr<bool>()[cell] = false;
      batch.targets.mutable_data_ptr<std::int64_t>()[cell] = samples[s].targets[t];
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

ReferenceResult reference_gradient(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                   at::ScalarType dtype, std::span<const Sample> window) {
  ReferenceResult result;
  std::vector<Sample> samples;
  for (const Sample& sample : window) {
    if (!sample.inputs.empty()) samples.push_back(sample);
    result.count += sample.supervised_tokens();
  }
  if (result.count == 0) {
    throw RunError("reference", "window: 0 supervised tokens, a mean needs at least 1; check the data's labels");
  }

  const std::unique_ptr<PaddedModel> model = make_padded_model(config, parameters, dtype);
  for (std::size_t begin = 0; begin < samples.size(); begin += kBatchSize) {
    const PaddedBatch batch = pad(std::span(samples).subspan(begin, std::min(kBatchSize, samples.size() - begin)));
    const at::Tensor log_probabilities = at::log_softmax(model->logits(batch.ids, batch.padding).flatten(0, 1), 1);
    const at::Tensor losses =
        at::nll_loss(log_probabilities, batch.targets.flatten(), /*weight=*/{}, at::Reduction::None, kIgnoreTarget);
    const at::Tensor sum = losses.sum(at::kDouble);
    result.loss_sum += sum.item<double>();
    (sum / static_cast<double>(result.count)).backward();
  }
  for (const at::Tensor& parameter : model->parameters()) {
    result.gradients.push_back(parameter.grad().defined() ? parameter.grad().contiguous() : at::zeros_like(parameter));
  }
  return result;
}

}  // namespace samegrad

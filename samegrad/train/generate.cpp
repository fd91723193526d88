#include "samegrad/train/generate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/base/philox.h"

namespace samegrad {
namespace {

void check(const ModelConfig& config, std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (prompt.empty()) throw InputError("generate", "prompt: empty; give at least one token to continue");
  for (const std::int32_t token : prompt) {
    if (token < 0 || token >= config.vocabulary) {
      throw InputError("generate", "prompt: token " + std::to_string(token) + "; allowed are 0.." +
                                       std::to_string(config.vocabulary - 1));
    }
  }
  if (!std::isfinite(options.temperature) || options.temperature < 0.0) {
    throw InputError("generate", "temperature: " + std::to_string(options.temperature) +
                                     "; allowed are 0 (the likeliest token) and above");
  }
}

/// Logits of the token after the last one, in double.
at::Tensor next_logits(const Model& model, std::span<const std::int32_t> tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  const PackedBatch batch{.inputs = {tokens.begin(), tokens.end()},
                          .targets = std::vector<std::int64_t>(tokens.size(), kIgnoreTarget),
                          .offsets = {0, length}};
  return model.logits(batch, /*dropout=*/std::nullopt)[length - 1].to(at::kDouble).contiguous();
}

/// The first token at which the running sum of probabilities passes a uniform draw from [0, 1).
std::int32_t draw(const at::Tensor& logits, const GenerateOptions& options, std::uint64_t number) {
  const at::Tensor probabilities = at::softmax(logits / options.temperature, 0);
  const std::span<const double> weights(probabilities.const_data_ptr<double>(),
                                        static_cast<std::size_t>(probabilities.numel()));
  const PhiloxCounter bits = philox4x32({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)},
                                        philox_key(options.seed, PhiloxStream::kGenerate));
  const double uniform = philox_unit_float(bits[0]);
  double sum = 0.0;
  for (std::size_t token = 0; token < weights.size(); ++token) {
    sum += weights[token];
    if (uniform < sum) return static_cast<std::int32_t>(token);
  }
  // The sum may round to slightly less than 1: then the likeliest token stands in for the missing tail.
  return static_cast<std::int32_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
}

}  // namespace

std::vector<std::int32_t> generate(const Model& model, const ModelConfig& config, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options) {
  check(config, prompt, options);
  const at::NoGradGuard no_grad;
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  const auto context = static_cast<std::size_t>(config.positions);
  for (std::int64_t number = 0; number < options.most_tokens; ++number) {
    const std::span<const std::int32_t> seen = std::span(tokens).last(std::min(tokens.size(), context));
    const at::Tensor logits = next_logits(model, seen);
    const std::int32_t token = options.temperature == 0.0
                                   ? static_cast<std::int32_t>(logits.argmax().item<std::int64_t>())
                                   : draw(logits, options, static_cast<std::uint64_t>(number));
    if (token == options.end_token) break;
    tokens.push_back(token);
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace samegrad

// What a sample costs to train on: the weights by which plan.balance lpt spreads a window's samples.
#pragma once

#include <cstdint>

#include "samegrad/config/run_config.h"

namespace samegrad {

/// cost = per_token * n + per_token_pair * n * n for a sample of n input tokens, in any unit.
struct SampleCost {
  double per_token = 0.0;
  double per_token_pair = 0.0;

  /// In doubles, in the order in which it is written above, so that anyone can compute the same number.
  double of(std::int64_t input_tokens) const {
    const auto n = static_cast<double>(input_tokens);
    return per_token * n + per_token_pair * n * n;
  }
};

/// The multiplications and additions of forward and backward (three times those of forward). With L layers of width w,
/// feed-forward size f and c choices of the output layer (classes; a decoder: vocabulary):
///   per_token      = 3 * (L * (8 w^2 + 4 w f) + 2 w c)
///   per_token_pair = 3 * L * 4 w, half of it for a decoder, whose tokens see only what came before.
/// Local.
SampleCost model_flops(const ModelConfig& model);

/// plan.cost_per_token and plan.cost_per_token_pair; where both are 0, model_flops. Local.
SampleCost sample_cost(const RunConfig& config);

}  // namespace samegrad

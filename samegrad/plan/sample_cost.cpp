#include "samegrad/plan/sample_cost.h"

namespace samegrad {

SampleCost model_flops(const ModelConfig& model) {
  // In doubles: the limits of the fields allow products that int64 cannot hold. All real sizes are exact.
  const bool causal = model.kind == "decoder";
  const auto layers = static_cast<double>(model.layers);
  const auto width = static_cast<double>(model.width);
  const auto feed_forward = static_cast<double>(model.feed_forward);
  const auto choices = static_cast<double>(causal ? model.vocabulary : model.classes);
  return {.per_token = 3.0 * (layers * (8.0 * width * width + 4.0 * width * feed_forward) + 2.0 * width * choices),
          .per_token_pair = 3.0 * layers * (causal ? 2.0 : 4.0) * width};
}

SampleCost sample_cost(const RunConfig& config) {
  const SampleCost given{config.plan.cost_per_token, config.plan.cost_per_token_pair};
  return given.per_token == 0.0 && given.per_token_pair == 0.0 ? model_flops(config.model) : given;
}

}  // namespace samegrad

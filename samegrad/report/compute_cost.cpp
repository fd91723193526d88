#include "samegrad/report/compute_cost.h"

namespace samegrad {

double sequence_operations(const ModelConfig& model, std::int64_t tokens) {
  const auto length = static_cast<double>(tokens);
  const auto width = static_cast<double>(model.width);
  const auto layers = static_cast<double>(model.layers);
  const bool encoder = model.kind == "encoder";
  // Multiplications of one token with weights: q, k, v and the projection behind them, then up and down.
  const double of_layer = 4.0 * width * width + 2.0 * width * static_cast<double>(model.feed_forward);
  const double of_head = width * static_cast<double>(encoder ? model.classes : model.vocabulary);
  // Pairs of a query and a key, with a score and a mixed value each.
  const double pairs = encoder ? length * length : length * (length + 1.0) / 2.0;
  const double of_layers = layers * (length * of_layer + pairs * 2.0 * width);
  // Backward has two products for each of forward; recomputed layers run forward once more.
  const double passes = model.gradient_checkpointing ? 4.0 : 3.0;
  return 2.0 * (passes * of_layers + 3.0 * length * of_head);
}

}  // namespace samegrad

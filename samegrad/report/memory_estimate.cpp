#include "samegrad/report/memory_estimate.h"

#include <bit>

#include "samegrad/kernels/attention.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFloatBytes = 4;

std::int64_t optimizer_blocks(const OptimizerConfig& optimizer) {
  if (optimizer.kind == "adamw") return 2;
  return optimizer.momentum != 0.0 ? 1 : 0;
}

// Values that one token leaves for backward. A layer keeps the inputs of its two norms and their outputs, q, k and v,
// what attention mixed and two numbers a row and head, and the activation function's values and slopes.
std::int64_t values_per_token(const ModelConfig& model) {
  std::int64_t layer = 8 * model.width + 2 * model.heads + 2 * model.feed_forward;
  if (model.dropout > 0.0) layer += 3 * model.width;
  const std::int64_t choices = model.kind == "encoder" ? model.classes : model.vocabulary;
  // Recomputed, a layer keeps its input; in backward one layer at a time has all.
  const std::int64_t layers = model.gradient_checkpointing ? model.layers * model.width + layer : model.layers * layer;
  return layers + 2 * model.width + choices;
}

}  // namespace

MemoryEstimate estimate_memory(const RunConfig& config, std::int64_t parameters, std::int64_t atom_tokens,
                               std::int64_t longest_sequence) {
  const std::int64_t block = parameters * kFloatBytes;
  // Partial sums of the atom tree, one a level, and the atom being computed; the reduced gradient takes a sum's place.
  const auto atoms = static_cast<std::uint64_t>(config.plan.atoms_per_window());
  const auto gradient_blocks = static_cast<std::int64_t>(std::bit_width(atoms - 1)) + 1;
  return {.parameters = block,
          .optimizer = optimizer_blocks(config.optimizer) * block,
          .gradients = gradient_blocks * block,
          .activations = (atom_tokens * values_per_token(config.model) +
                          attention_scratch_elements(longest_sequence, config.model.width / config.model.heads)) *
                         kFloatBytes};
}

}  // namespace samegrad

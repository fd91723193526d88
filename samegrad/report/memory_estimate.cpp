#include "samegrad/report/memory_estimate.h"

#include <bit>

namespace samegrad {
namespace {

constexpr std::int64_t kFloatBytes = 4;

std::int64_t optimizer_blocks(const OptimizerConfig& optimizer) {
  if (optimizer.kind == "adamw") return 2;
  return optimizer.momentum != 0.0 ? 1 : 0;
}

// Values that one token leaves for backward. A layer keeps the inputs of its two norms and their outputs, q, k and v,
// the mixed values three times (per sample, joined, projected), and the activation function's values and slopes.
std::int64_t values_per_token(const ModelConfig& model, std::int64_t longest_sequence) {
  std::int64_t layer = 10 * model.width + 2 * model.feed_forward;
  // Attention weights are kept only where dropout works on them: scores, softmax, mask, product.
  if (model.dropout > 0.0) layer += 3 * model.width + 4 * model.heads * longest_sequence;
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
          .activations = atom_tokens * values_per_token(config.model, longest_sequence) * kFloatBytes};
}

}  // namespace samegrad

// The work of a simulation, from a config and its samples' tokens.
#include <algorithm>
#include <cstddef>

#include "samegrad/base/padded_elements.h"
#include "samegrad/model/parameter_spec.h"
#include "samegrad/report/compute_cost.h"
#include "samegrad/report/simulation.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFloatBytes = 4;

SimulatedWork work_of(const RunConfig& config, std::int64_t most_atom_tokens, std::int64_t longest) {
  SimulatedWork work;
  for (const ParameterSpec& spec : parameter_specs(config.model)) {
    work.parameters += spec.elements();
    work.flat_elements += padded_elements(spec.elements());
  }
  work.memory = estimate_memory(config, work.parameters, most_atom_tokens, longest);
  work.memory.gradients = 0;
  const std::int64_t block = work.parameters * kFloatBytes;
  // Read once each: the gradient by norm, hash and optimizer, the parameters by their hash; and read and written: the
  // parameters and the optimizer's state by the optimizer, the gradient by clipping.
  const std::int64_t clipping = config.optimizer.max_grad_norm > 0.0 ? 2 * block : 0;
  work.step_bytes = 4 * block + 2 * block + 2 * work.memory.optimizer + clipping;
  return work;
}

}  // namespace

SimulatedWork uniform_work(const RunConfig& config, std::int64_t atoms, std::int64_t tokens) {
  const std::int64_t samples = config.plan.batch_size_per_rank;
  SimulatedWork work = work_of(config, samples * tokens, tokens);
  const double of_atom = static_cast<double>(samples) * sequence_operations(config.model, tokens);
  work.operations.emplace_back(static_cast<std::size_t>(atoms), of_atom);
  return work;
}

SimulatedWork planned_work(const RunConfig& config, std::span<const std::vector<std::vector<std::int64_t>>> tokens) {
  std::int64_t most = 0;
  std::int64_t longest = 0;
  std::vector<std::vector<double>> operations;
  for (const auto& window : tokens) {
    std::vector<double>& of_window = operations.emplace_back();
    for (const std::vector<std::int64_t>& atom : window) {
      std::int64_t all = 0;
      double of_atom = 0.0;
      for (const std::int64_t length : atom) {
        all += length;
        longest = std::max(longest, length);
        of_atom += sequence_operations(config.model, length);
      }
      most = std::max(most, all);
      of_window.push_back(of_atom);
    }
  }
  SimulatedWork work = work_of(config, most, longest);
  work.operations = std::move(operations);
  return work;
}

}  // namespace samegrad

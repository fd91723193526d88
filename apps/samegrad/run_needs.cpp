#include "apps/samegrad/run_needs.h"

#include <algorithm>
#include <filesystem>

#include "samegrad/model/parameter_spec.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFloat = 4;

// Measured: a process that has loaded libtorch and run one operation.
constexpr std::int64_t kLibtorch = std::int64_t{350} << 20;

/// Tensors of the size of all parameters that the optimizer keeps.
std::int64_t optimizer_states(const OptimizerConfig& optimizer) {
  if (optimizer.kind == "adamw") {
    return 2;
  }
  return optimizer.momentum != 0 ? 1 : 0;
}

std::int64_t activation_bytes(const RunConfig& config) {
  const ModelConfig& model = config.model;
  const std::int64_t longest = config.data.task == "lesson" ? config.data.longest : model.positions;
  const std::int64_t tokens = config.plan.batch_size_per_rank * longest;
  const std::int64_t choices = model.kind == "encoder" ? model.classes : model.vocabulary;
  // Of a layer: about ten vectors of the width, two of the hidden size, and a row of attention a head.
  const std::int64_t floats_of_token =
      model.layers * (10 * model.width + 2 * model.feed_forward + model.heads * longest) + 3 * choices;
  return 2 * tokens * floats_of_token * kFloat;  // forward and backward
}

std::int64_t data_bytes(const DataConfig& data) {
  if (data.task == "lesson") {
    const std::int64_t sequences = data.train_sequences + data.validation_sequences + data.test_sequences;
    const std::int64_t bytes_of_token = 4;  // a digit and a comma, as token and as label
    return sequences * (data.longest * bytes_of_token + 64);
  }
  // An index entry is far smaller than the sample that it points to.
  std::int64_t bytes = 0;
  for (const std::string& file : {data.train, data.validation}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    bytes += error ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t checkpoints_kept(const RunConfig& config) {
  const std::int64_t at_stop_and_end = 2;
  const std::int64_t during =
      config.checkpoint.every > 0 && config.plan.updates > 0 ? config.plan.updates / config.checkpoint.every : 0;
  const std::int64_t all = at_stop_and_end + during;
  return 1 + (config.checkpoint.keep > 0 ? std::min(all, config.checkpoint.keep) : all);  // and one being written
}

}  // namespace

RunNeeds run_needs(const RunConfig& config) {
  RunNeeds needs;
  for (const ParameterSpec& spec : parameter_specs(config.model)) {
    needs.parameters += spec.elements();
  }
  const std::int64_t tensor = needs.parameters * kFloat;
  const std::int64_t states = optimizer_states(config.optimizer);
  // Weights, optimizer, one gradient a microbatch at worst, and the exchange's two buffers.
  needs.memory_of_process =
      kLibtorch + tensor * (1 + states + config.plan.atoms_per_window() + 2) + activation_bytes(config);

  constexpr std::int64_t kMetricsLine = 1024;
  constexpr std::int64_t kFigures = std::int64_t{4} << 20;
  // Initial weights, reference in float32 and float64, final weights of three runs.
  needs.disk = tensor * (1 + 1 + 2 + 3) + checkpoints_kept(config) * tensor * (1 + states) + data_bytes(config.data) +
               2 * config.plan.updates * kMetricsLine + kFigures;
  return needs;
}

}  // namespace samegrad

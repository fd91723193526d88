#include "apps/samegrad/run_needs.h"

#include <algorithm>
#include <filesystem>

#include "samegrad/model/parameter_spec.h"
#include "samegrad/report/memory_estimate.h"

namespace samegrad {
namespace {

// Measured: a process that trains the lesson holds 172 MiB, of which 20 belong to the model.
constexpr std::int64_t kLibtorch = std::int64_t{200} << 20;

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
  const std::int64_t besides =
      config.checkpoint.keep_every > 0 ? config.plan.updates / config.checkpoint.keep_every : 0;
  return 1 + (config.checkpoint.keep > 0 ? std::min(all, config.checkpoint.keep + besides) : all);  // 1: being written
}

}  // namespace

SavedBytes saved_bytes(const RunConfig& config) {
  std::int64_t parameters = 0;
  for (const ParameterSpec& spec : parameter_specs(config.model)) {
    parameters += spec.elements();
  }
  const MemoryEstimate memory = estimate_memory(config, parameters, 1, 1);
  return {.weights = memory.parameters, .checkpoint = memory.parameters + memory.optimizer};
}

RunNeeds run_needs(const RunConfig& config) {
  RunNeeds needs;
  for (const ParameterSpec& spec : parameter_specs(config.model)) {
    needs.parameters += spec.elements();
  }
  const std::int64_t longest = config.data.task == "lesson" ? config.data.longest : config.model.positions;
  const MemoryEstimate memory =
      estimate_memory(config, needs.parameters, config.plan.batch_size_per_rank * longest, longest);
  const std::int64_t weights = memory.parameters;
  const std::int64_t copy_to_save = config.checkpoint.async ? weights + memory.optimizer : 0;
  needs.memory_of_process = kLibtorch + memory.total() + copy_to_save;

  constexpr std::int64_t kMetricsLine = 1024;
  constexpr std::int64_t kFigures = std::int64_t{4} << 20;
  // Initial weights, reference in float32 and float64, final weights of three runs.
  needs.disk = weights * (1 + 1 + 2 + 3) + checkpoints_kept(config) * (weights + memory.optimizer) +
               data_bytes(config.data) + 2 * config.plan.updates * kMetricsLine + kFigures;
  return needs;
}

}  // namespace samegrad

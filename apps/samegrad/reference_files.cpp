#include "apps/samegrad/reference_files.h"

#include <ATen/core/Tensor.h>

#include <vector>

#include "apps/samegrad/gradient_check.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/train/reference.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {
namespace {

std::string made_for(const RunContext& context) {
  return sha256_hex(context.run.digest + sha256_file_hex(context.paths.init, "reference"));
}

bool made_for_this(const std::filesystem::path& file, const std::string& key) {
  if (!std::filesystem::exists(file)) return false;
  try {
    const SafetensorsFile reference(file);
    const auto found = reference.metadata().find("made_for");
    return found != reference.metadata().end() && found->second == key;
  } catch (const Error&) {  // damaged: it is made again
    return false;
  }
}

}  // namespace

ReferenceFiles write_reference(const RunContext& context) {
  TrainState state = initial_state(context.config);
  load_parameters(context.paths.init, state.parameters);
  const std::vector<Sample> samples = window_samples(context.run.plan->window(1), *context.run.data.train);
  const std::string key = made_for(context);
  const FlatLayout& layout = state.parameters.layout();
  const ReferenceResult single = reference_gradient(context.config.model, context.config.objective,
                                                    state.parameters.tensors(), at::kFloat, samples);
  const ReferenceResult exact = reference_gradient(context.config.model, context.config.objective,
                                                   state.parameters.tensors(), at::kDouble, samples);
  write_file_atomically(context.paths.reference32,
                        safetensors_bytes(reference_views(single, layout), {{"made_for", key}}));
  write_file_atomically(context.paths.reference64,
                        safetensors_bytes(reference_views(exact, layout), {{"made_for", key}}));
  LossSum loss{exact.loss_sum, exact.units};
  if (training_objective(context.config, *context.run.data.train).divides_by_weight()) loss.weight = exact.divisor;
  return {loss, exact.supervised_tokens};
}

bool reference_is_current(const RunContext& context) {
  const std::string key = made_for(context);
  return made_for_this(context.paths.reference32, key) && made_for_this(context.paths.reference64, key);
}

}  // namespace samegrad

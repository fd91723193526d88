#include "apps/samegrad/reference_files.h"

#include <ATen/core/Tensor.h>

#include <vector>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/train/reference.h"

namespace samegrad {
namespace {

std::string made_for(const RunContext& context) {
  return sha256_hex(context.run.digest + sha256_file_hex(context.paths.init, "reference"));
}

std::vector<Sample> first_window_samples(const RunContext& context) {
  std::vector<Sample> samples;
  for (const Atom& atom : context.run.plan->window(1).atoms) {
    for (const std::int64_t id : atom) samples.push_back(context.run.data.train->sample(id));
  }
  return samples;
}

void write_gradients(const std::filesystem::path& file, const FlatLayout& layout, const ReferenceResult& result,
                     TensorType type, const std::string& key) {
  std::vector<TensorView> views;
  std::vector<at::Tensor> contiguous;
  for (const at::Tensor& gradient : result.gradients) contiguous.push_back(gradient.contiguous());
  for (std::size_t i = 0; i < contiguous.size(); ++i) {
    views.push_back({layout.places()[i].name,
                     type,
                     layout.places()[i].shape,
                     {static_cast<const std::byte*>(contiguous[i].const_data_ptr()), contiguous[i].nbytes()}});
  }
  write_file_atomically(file, safetensors_bytes(views, {{"made_for", key}}));
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
  const std::vector<Sample> samples = first_window_samples(context);
  const std::string key = made_for(context);
  const FlatLayout& layout = state.parameters.layout();
  const ReferenceResult single =
      reference_gradient(context.config.model, state.parameters.tensors(), at::kFloat, samples);
  const ReferenceResult exact =
      reference_gradient(context.config.model, state.parameters.tensors(), at::kDouble, samples);
  write_gradients(context.paths.reference32, layout, single, TensorType::kFloat32, key);
  write_gradients(context.paths.reference64, layout, exact, TensorType::kFloat64, key);
  return {LossSum{exact.loss_sum, exact.count}};
}

bool reference_is_current(const RunContext& context) {
  const std::string key = made_for(context);
  return made_for_this(context.paths.reference32, key) && made_for_this(context.paths.reference64, key);
}

}  // namespace samegrad

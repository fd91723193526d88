// Between a running training and the files of a checkpoint.
#pragma once

#include <string>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/data_lock.h"
#include "samegrad/plan/update_plan.h"
#include "samegrad/train/train_state.h"

namespace samegrad {

/// What identifies a run beside its tensors.
struct RunIdentity {
  std::string run_id;
  std::string kind;  ///< stopped | continuous | resumed
  DataLock data_lock;
};

/// The content to save. Its tensor views look into `state`, which must not change before the save is done. Local.
CheckpointContent training_content(const TrainState& state, const RunConfig& config, const UpdatePlan& plan,
                                   const RunIdentity& identity);

/// Puts a verified checkpoint's tensors, counters and optimizer options into `state`, which initial_state(config) made.
/// Nothing is changed unless everything fits: CheckError names file and tensor. Local.
void restore_training(const Checkpoint& checkpoint, TrainState& state);

/// Reads a model.safetensors (or init.safetensors) into `parameters`: the same names and shapes, float32, no more and
/// no fewer. CheckError names file and tensor. Local.
void load_parameters(const std::filesystem::path& file, FlatParameters& parameters);

/// Views of the parameters, or of any flat block of the same layout, for a safetensors file. Local.
std::vector<TensorView> parameter_views(const FlatLayout& layout, std::span<const float> flat);
std::vector<TensorView> parameter_views(const FlatLayout& layout, std::span<const double> flat);

/// Views of the optimizer's state, `<parameter>.<state>`, as optimizer.safetensors has them. Local.
std::vector<TensorView> optimizer_views(const TrainState& state);

}  // namespace samegrad

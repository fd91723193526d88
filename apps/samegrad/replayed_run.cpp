#include "apps/samegrad/replayed_run.h"

#include <filesystem>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/resume_rules.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/train/whole_gradient.h"

namespace samegrad {
namespace {

// The config's paths may be relative to the run's folder (trained there) or to this one (trained with --run). Only the
// training data is needed.
RunConfig with_data_path(RunConfig config, const RunPaths& paths) {
  const std::filesystem::path in_run = paths.run / config.data.train;
  if (config.data.task == "text" && std::filesystem::exists(in_run)) config.data.train = in_run.string();
  config.data.validation.clear();
  return config;
}

// open_data() believes the size of a user's file: here its content counts.
void refuse_changed_file(const RunConfig& config, const DataLock& lock) {
  if (config.data.task != "text") return;
  const std::string now = sha256_file_hex(config.data.train, "data");
  for (const auto& [name, split] : lock.splits) {
    if (name == "train" && split.sha256 != now) {
      throw InputError("data", config.data.train + ": changed since the run: sha256 " + split.sha256.substr(0, 12) +
                                   " then, " + now.substr(0, 12) + " now; restore the file");
    }
  }
}

// A model of the size that the config claims is allocated only where a file of that size is there.
void refuse_other_size(const RunConfig& config, const std::filesystem::path& weights) {
  std::int64_t elements = 0;
  for (const ParameterSpec& spec : parameter_specs(config.model)) elements += spec.elements();
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(weights, error);
  if (error || bytes / sizeof(float) < static_cast<std::uintmax_t>(elements)) {
    throw InputError("bisect", weights.string() + ": missing or too small for the " + std::to_string(elements) +
                                   " parameters of the run's configuration; restore it");
  }
}

RecordedUpdate recorded_form(const UpdateResult& result) {
  return {.action = result.action == WindowAction::kSkip ? "skip" : "train",
          .supervised_tokens = result.supervised_tokens,
          .loss_sum = result.loss.sum,
          .loss_divisor = result.loss.divisor(),
          .gradient_hash = result.gradient_hash,
          .gradient_norm = result.gradient_norm,
          .learning_rate = result.learning_rate,
          .clip_factor = result.clip_factor,
          .parameters_hash = result.parameters_hash,
          .hash_chain = result.hash_chain};
}

}  // namespace

ReplayedRun::ReplayedRun(RunOrigin origin, const RunPaths& paths, const RecordedRun& record)
    : config_(with_data_path(std::move(origin.config), paths)), record_(&record) {
  refuse_other_size(config_, origin.checkpoint ? origin.checkpoint->path / kModelFile : paths.init);
  run_ = open_run(config_, paths);
  refuse_changed_file(config_, run_.data.lock);
  TrainState state = initial_state(config_);
  if (origin.checkpoint) {
    check_resume(*origin.checkpoint, config_, *run_.plan, run_.data.lock);
    restore_training(*origin.checkpoint, state);
    started_from_ = origin.checkpoint->path.string();
  } else {
    if (!origin.data_lock.is_null()) {
      compare_data_locks(data_lock_from_json(origin.data_lock, kStateFile.data()), run_.data.lock);
    }
    // A training makes the file again where it is not what the config gives.
    started_from_ = "the initial weights of seed " + std::to_string(config_.seed);
  }
  trainer_ = std::make_unique<Trainer>(config_, run_.data.train, run_.plan, comm_, run_.digest, std::move(state));
  if (const auto recorded = record.updates.find(update()); recorded != record.updates.end()) {
    RecordedUpdate held = recorded->second;
    held.parameters_hash = elements_hash(trainer_->state().parameters.layout(), trainer_->state().parameters.values());
    held.hash_chain = trainer_->state().hash_chain;
    compare_with_record(update(), held);
  }
}

void ReplayedRun::compare_with_record(std::int64_t update, const RecordedUpdate& computed) {
  const auto recorded = record_->updates.find(update);
  if (unreproduced_ || recorded == record_->updates.end()) return;
  std::vector<RecordDifference> differences = record_differences(recorded->second, computed);
  if (!differences.empty()) unreproduced_ = Unreproduced{update, std::move(differences)};
}

UpdateResult ReplayedRun::step(const std::function<void(std::span<const float>)>& on_gradient) {
  UpdateResult result = trainer_->train_update({.on_gradient = on_gradient});
  ++updates_replayed_;
  compare_with_record(result.update, recorded_form(result));
  return result;
}

}  // namespace samegrad

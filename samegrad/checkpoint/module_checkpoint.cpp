#include "samegrad/checkpoint/module_checkpoint.h"

#include <torch/nn/module.h>

#include <functional>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/module_generators.h"
#include "samegrad/checkpoint/module_ranks.h"
#include "samegrad/checkpoint/module_save.h"
#include "samegrad/checkpoint/module_tensors.h"
#include "samegrad/checkpoint/optimizer_state.h"

namespace samegrad::checkpoint {
namespace {

/// What of state.json load() needs, checked.
struct SavedState {
  Json extra;
  Json scheduler_steps;
};

SavedState state_of(const Checkpoint& checkpoint) {
  const std::string file = (checkpoint.path / kStateFile).string();
  if (checkpoint.state.value("content", Json()) != kContent) {
    throw CheckError("checkpoint", file +
                                       ": not saved by samegrad::checkpoint; one of `samegrad train` goes on with "
                                       "`samegrad train --resume`, and load_model() takes its parameters");
  }
  SavedState state{.extra = checkpoint.state.value("extra", Json()),
                   .scheduler_steps = checkpoint.state.value("scheduler_steps", Json())};
  if (!state.extra.is_object() || !(state.scheduler_steps.is_null() || state.scheduler_steps.is_number_unsigned())) {
    throw CheckError("checkpoint", file + ": extra or scheduler_steps is missing or of another type");
  }
  return state;
}

std::function<void()> prepare_scheduler(const Checkpoint& checkpoint, const Json& steps,
                                        torch::optim::LRScheduler* scheduler) {
  if (steps.is_null() != (scheduler == nullptr)) {
    throw CheckError("checkpoint", (checkpoint.path / kStateFile).string() +
                                       (scheduler == nullptr ? ": holds the steps of a scheduler; here none is given"
                                                             : ": holds no steps of a scheduler; here one is given"));
  }
  return [steps, scheduler] {
    if (scheduler != nullptr) steps_of(*scheduler) = steps.get<unsigned>();
  };
}

/// The checkpoint that rank 0 chose, verified on this rank too. `mine` is rank 0's, where it has been verified already.
Checkpoint verified_as_chosen(const std::filesystem::path& path, const std::string& digest,
                              std::optional<Checkpoint> mine) {
  Checkpoint checkpoint = mine ? *std::move(mine) : verify_checkpoint(path);
  if (sha256_file_hex(checkpoint.path / kManifestFile, "checkpoint") != digest) {
    throw CheckError(
        "checkpoint",
        path.string() + ": not the checkpoint that rank 0 finds there; all ranks must see the same folder");
  }
  return checkpoint;
}

/// Rank 0's choice for all, put into `training` by `prepare`. `find` runs on rank 0: the path, or a verified
/// checkpoint; nothing where there is none.
struct Choice {
  std::filesystem::path path;
  std::optional<Checkpoint> verified;
};

using Prepared = std::vector<std::function<void()>>;

bool load_chosen(const World& world, const std::function<std::optional<Choice>()>& find,
                 const std::function<Prepared(const Checkpoint&)>& prepare) {
  constexpr std::size_t kDigestDigits = 64;
  std::optional<Choice> choice;
  std::string told;
  together(world, 0, [&] {
    if (world.rank() != 0) return;
    choice = find();
    if (!choice) return;
    read_manifest(choice->path);
    told = sha256_file_hex(choice->path / kManifestFile, "checkpoint") + choice->path.string();
  });
  told = text_of_rank_0(world, 0, told);
  if (told.empty()) return false;
  Prepared prepared;
  together(world, 0, [&] {
    prepared = prepare(verified_as_chosen(told.substr(kDigestDigits), told.substr(0, kDigestDigits),
                                          choice ? std::move(choice->verified) : std::nullopt));
  });
  for (const std::function<void()>& put : prepared) put();
  return true;
}

std::map<std::string, at::Tensor> read_extra_tensors(const Checkpoint& checkpoint) {
  std::map<std::string, at::Tensor> tensors;
  if (!checkpoint.manifest.has_extra_file()) return tensors;
  const std::filesystem::path path = checkpoint.path / kExtraFile;
  const SafetensorsFile file(path);
  for (const TensorView& view : file.tensors()) tensors.emplace(view.name, read_tensor(view, path.string()));
  return tensors;
}

std::function<void()> prepare_module_of(const Checkpoint& checkpoint, const ModuleTensors& module) {
  return [placements = prepare_module(checkpoint.path / kModelFile, module)] { place_all(placements); };
}

std::optional<Loaded> load_training(const World& world, const std::function<std::optional<Choice>()>& find,
                                    const Training& training) {
  Loaded loaded;
  const bool found = load_chosen(world, find, [&](const Checkpoint& checkpoint) -> Prepared {
    const SavedState state = state_of(checkpoint);
    const ModuleTensors module = module_tensors(training.model);
    loaded.path = checkpoint.path;
    loaded.update = checkpoint.update;
    loaded.extra = state.extra;
    loaded.tensors = read_extra_tensors(checkpoint);
    return {prepare_module_of(checkpoint, module),
            prepare_optimizer(checkpoint.path / kOptimizerFile, module, training.optimizer),
            prepare_scheduler(checkpoint, state.scheduler_steps, training.scheduler),
            prepare_rank_values(checkpoint, world.rank(), world.size(), training.generators, loaded.rank_extra)};
  });
  return found ? std::optional(std::move(loaded)) : std::nullopt;
}

}  // namespace

Loaded load(const World& world, const std::filesystem::path& path, const Training& training) {
  return *load_training(
      world, [&] { return Choice{.path = path, .verified = {}}; }, training);
}

std::optional<Loaded> load_latest(const World& world, const std::filesystem::path& folder, const Training& training) {
  const auto newest = [&]() -> std::optional<Choice> {
    LatestCheckpoint latest = find_latest(folder, training.run_id);
    for (const CheckpointStatus& passed : latest.passed_over) {
      log_warn("passed over: " + passed.problem);
    }
    if (!latest.found) return std::nullopt;
    const std::filesystem::path path = latest.found->path;
    return Choice{.path = path, .verified = std::move(latest.found)};
  };
  return load_training(world, newest, training);
}

void load_model(const World& world, const std::filesystem::path& path, torch::nn::Module& model) {
  load_chosen(
      world, [&] { return Choice{.path = path, .verified = {}}; },
      [&](const Checkpoint& checkpoint) -> Prepared { return {prepare_module_of(checkpoint, module_tensors(model))}; });
}

}  // namespace samegrad::checkpoint

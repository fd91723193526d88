#include "samegrad/checkpoint/module_checkpoint.h"

#include <torch/nn/module.h>
#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/version.h>

#include <functional>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/module_generators.h"
#include "samegrad/checkpoint/module_ranks.h"
#include "samegrad/checkpoint/module_tensors.h"
#include "samegrad/checkpoint/optimizer_state.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/checkpoint/strict_json.h"

namespace samegrad::checkpoint {
namespace {

constexpr const char* kContent = "module";  // state.json's "content": not a checkpoint of `samegrad train`

/// LRScheduler shows its only state to derived classes.
struct StepCount : torch::optim::LRScheduler {
  static unsigned& of(torch::optim::LRScheduler& scheduler) { return scheduler.*(&StepCount::step_count_); }
};

/// Throws InputError where `value` does not read back from JSON text as it is.
void check_reads_back(const Json& value, const char* what) {
  Json read;
  try {
    read = parse_strict_json(value.dump(), what);
  } catch (const std::exception& error) {
    throw InputError("checkpoint", std::string(what) + ": cannot be written as JSON: " + printable(error.what()));
  }
  if (read == value) return;
  const Json difference = Json::diff(value, read);
  throw InputError("checkpoint", std::string(what) + ": " + printable(difference.at(0).at("path").get<std::string>()) +
                                     " does not read back from JSON: only finite numbers, texts, truth values, arrays "
                                     "and objects do; put other values into `tensors`");
}

/// Everything of this rank that may go into the folder, and what ranks compare.
struct Snapshot {
  ModuleTensors module;
  std::vector<StoredTensor> model;
  StoredOptimizer optimizer;
  std::vector<StoredTensor> tensors;
  Json state;
  Json compared;  ///< the same on every rank: what -> value or digest
  Json rank;      ///< of rank_values()
};

Snapshot snapshot_of(const Training& training, const Progress& progress) {
  if (progress.update < 0) {
    throw InputError("checkpoint", "update: " + std::to_string(progress.update) + "; it is the number of updates done");
  }
  if (!progress.extra.is_object())
    throw InputError("checkpoint", "extra: not an object; give {{\"name\", value}, ...}");
  check_reads_back(progress.extra, "extra");
  check_reads_back(progress.rank_extra, "rank_extra");
  check_reads_back(training.run_id, "run_id");
  Snapshot snapshot{.module = module_tensors(training.model),
                    .model = {},
                    .optimizer = {},
                    .tensors = {},
                    .state = {},
                    .compared = {},
                    .rank = rank_values(training.generators, progress.rank_extra)};
  std::vector<StoredTensor> parameters;
  for (const ModuleTensors::Named& named : snapshot.module.tensors) {
    snapshot.model.push_back(stored_tensor(named.name, named.tensor));
    if (named.parameter) parameters.push_back(snapshot.model.back());
  }
  snapshot.optimizer = stored_optimizer(training.optimizer, snapshot.module);
  for (const auto& [name, tensor] : progress.tensors) snapshot.tensors.push_back(stored_tensor(name, tensor));
  const Json steps = training.scheduler == nullptr ? Json() : Json(StepCount::of(*training.scheduler));
  snapshot.state = {{"content", kContent},
                    {"run_id", training.run_id},
                    {"update", progress.update},
                    {"scheduler_steps", steps},
                    {"extra", progress.extra}};
  snapshot.compared = {{"update", progress.update},
                       {"run_id", training.run_id},
                       {"scheduler_steps", steps},
                       {"extra", progress.extra},
                       {"optimizer's options", snapshot.optimizer.options},
                       {"names of generators", generator_names(training.generators)},
                       {"having rank_extra", !progress.rank_extra.is_null()}};
  for (const auto& [kind, tensors] :
       {std::pair("parameter", &parameters), std::pair("optimizer state", &snapshot.optimizer.tensors),
        std::pair("tensor", &snapshot.tensors)}) {
    for (const auto& [name, digest] : digests_of(*tensors)) {
      snapshot.compared[std::string(kind) + " '" + printable(name) + "'"] = digest;
    }
  }
  return snapshot;
}

/// Throws CheckError where a rank's values are not rank 0's. Each of `ranks` is {"compared", "rank"}.
void refuse_differing_ranks(const std::vector<Json>& ranks) {
  const Json& first = ranks.front()["compared"];
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const Json& other = ranks[rank]["compared"];
    if (other == first) continue;
    const auto refuse = [&](const std::string& what) {
      throw CheckError("checkpoint", "nothing saved: " + what + " of rank " + std::to_string(rank) +
                                         " is not rank 0's; ranks must train the same values (values of each rank go "
                                         "into rank_extra)");
    };
    for (const auto& [what, value] : first.items()) {
      if (other.value(what, Json("missing")) != value) refuse(what);
    }
    for (const auto& [what, value] : other.items()) {
      if (!first.contains(what)) refuse(what);
    }
  }
}

CheckpointContent content_of(const World& world, const Snapshot& snapshot, const std::vector<Json>& ranks) {
  CheckpointContent content;
  content.model = views_of(snapshot.model);
  content.model_metadata = snapshot.module.aliases;
  content.optimizer = views_of(snapshot.optimizer.tensors);
  content.optimizer_options = snapshot.optimizer.options;
  content.extra = views_of(snapshot.tensors);
  content.state = snapshot.state;
  for (const Json& rank : ranks) {
    if (!rank["rank"].is_null()) content.rank_files.push_back(rank["rank"]);
  }
  content.manifest_facts = {
      {"world_size", world.size()}, {"backend", world.backend()}, {"libraries", {{"libtorch", TORCH_VERSION}}}};
  return content;
}

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
    if (scheduler != nullptr) StepCount::of(*scheduler) = steps.get<unsigned>();
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

std::filesystem::path save(const World& world, const std::filesystem::path& folder, const Training& training,
                           const Progress& progress, std::int64_t keep, std::int64_t keep_every) {
  Snapshot snapshot;
  std::string mine;
  together(world, progress.update, [&] {
    if (keep < 0)
      throw InputError("checkpoint", "keep: " + std::to_string(keep) + "; 0 keeps all, or a number of them");
    if (keep_every < 0)
      throw InputError("checkpoint", "keep_every: " + std::to_string(keep_every) + "; 0, or a number of updates");
    snapshot = snapshot_of(training, progress);
    mine = Json({{"compared", snapshot.compared}, {"rank", snapshot.rank}}).dump();
  });
  const std::vector<std::string> texts = texts_of_all(world, progress.update, mine);
  together(world, progress.update, [&] {
    if (world.rank() != 0) return;
    std::vector<Json> ranks;
    ranks.reserve(texts.size());
    for (const std::string& text : texts) ranks.push_back(Json::parse(text));
    refuse_differing_ranks(ranks);
    save_checkpoint(folder, progress.update, content_of(world, snapshot, ranks));
    prune_checkpoints(folder, training.run_id, {.keep = keep, .keep_every = keep_every});
  });
  return folder / step_folder_name(progress.update);
}

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

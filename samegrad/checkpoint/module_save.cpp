#include "samegrad/checkpoint/module_save.h"

#include <torch/nn/module.h>
#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/async_save.h"
#include "samegrad/checkpoint/module_generators.h"
#include "samegrad/checkpoint/module_ranks.h"
#include "samegrad/checkpoint/module_tensors.h"
#include "samegrad/checkpoint/optimizer_state.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/checkpoint/strict_json.h"

namespace samegrad::checkpoint {
namespace {

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
  const Json steps = training.scheduler == nullptr ? Json() : Json(steps_of(*training.scheduler));
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

/// What the error shows in full.
constexpr std::array<std::string_view, 5> kShownInFull{"folder", "keep", "keep_every", "update", "run_id"};

/// Throws CheckError where a rank's values are not rank 0's. Each of `ranks` is {"compared", "rank"}.
void refuse_differing_ranks(const std::vector<Json>& ranks) {
  const Json& first = ranks.front()["compared"];
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const Json& other = ranks[rank]["compared"];
    if (other == first) continue;
    const auto refuse = [&](const std::string& what, const std::string& values = {}) {
      throw CheckError("checkpoint",
                       "nothing saved: " + what + " of rank " + std::to_string(rank) + " is not rank 0's" + values +
                           "; ranks must save to the same place and train the same values (values of each "
                           "rank go into rank_extra)");
    };
    for (const auto& [what, value] : first.items()) {
      const Json its = other.value(what, Json("missing"));
      if (its == value) continue;
      const bool is_short = std::ranges::find(kShownInFull, what) != kShownInFull.end();
      refuse(what, is_short ? " (" + printable_json(its) + ", not " + printable_json(value) + ")" : "");
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

/// What ranks compare and agree on; `write` then runs on rank 0.
void save_by(const World& world, const std::filesystem::path& folder, const Training& training,
             const Progress& progress, const Retention& retention,
             const std::function<void(const CheckpointContent&)>& write) {
  Snapshot snapshot;
  std::string mine;
  together(world, progress.update, [&] {
    const auto check = [](const char* name, std::int64_t value, const char* allowed) {
      if (value < 0) throw InputError("checkpoint", std::string(name) + ": " + std::to_string(value) + allowed);
    };
    check("keep", retention.keep, "; 0 keeps all, or a number of them");
    check("keep_every", retention.keep_every, "; 0 for none, or a number of updates");
    snapshot = snapshot_of(training, progress);
    const std::string place = (folder / "").lexically_normal().string();  // "x" is "x/"
    snapshot.compared["folder"] = printable(place);
    snapshot.compared["digest of folder"] = xxh3_128_hex(place);  // a long one is shown in part
    snapshot.compared["keep"] = retention.keep;
    snapshot.compared["keep_every"] = retention.keep_every;
    mine = Json({{"compared", snapshot.compared}, {"rank", snapshot.rank}}).dump();
  });
  const std::vector<std::string> texts = texts_of_all(world, progress.update, mine);
  together(world, progress.update, [&] {
    if (world.rank() != 0) return;
    std::vector<Json> ranks;
    ranks.reserve(texts.size());
    for (const std::string& text : texts) ranks.push_back(parse_untrusted_json(text));
    refuse_differing_ranks(ranks);
    write(content_of(world, snapshot, ranks));
  });
}

}  // namespace

unsigned& steps_of(torch::optim::LRScheduler& scheduler) { return StepCount::of(scheduler); }

std::filesystem::path save(const World& world, const std::filesystem::path& folder, const Training& training,
                           const Progress& progress, std::int64_t keep, std::int64_t keep_every) {
  const Retention retention{.keep = keep, .keep_every = keep_every, .saved = progress.update};
  save_by(world, folder, training, progress, retention, [&](const CheckpointContent& content) {
    save_checkpoint(folder, progress.update, content);
    prune_checkpoints(folder, training.run_id, retention);
  });
  return folder / step_folder_name(progress.update);
}

AsyncSaver::AsyncSaver() : async_save_(std::make_unique<AsyncSave>()) {}

AsyncSaver::~AsyncSaver() = default;

std::filesystem::path AsyncSaver::save(const World& world, const std::filesystem::path& folder,
                                       const Training& training, const Progress& progress, std::int64_t keep,
                                       std::int64_t keep_every) {
  const Retention retention{.keep = keep, .keep_every = keep_every, .saved = progress.update};
  save_by(world, folder, training, progress, retention, [&](const CheckpointContent& content) {
    async_save_->start(folder, progress.update, content,
                       [folder, run_id = training.run_id, retention](const std::filesystem::path&) {
                         prune_checkpoints(folder, run_id, retention);
                       });
  });
  update_ = progress.update;
  return folder / step_folder_name(progress.update);
}

void AsyncSaver::check(const World& world) {
  together(world, update_, [&] { async_save_->check(); });
}

void AsyncSaver::wait(const World& world) {
  together(world, update_, [&] { async_save_->wait(); });
}

}  // namespace samegrad::checkpoint

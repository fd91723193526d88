// Checkpoints of a program's own torch::nn::Module, optimizer, scheduler and values: the folders, guarantees and checks
// of checkpoint.h (`samegrad checkpoints PATH` reads them), with the same bits after a load as before the save.
//
//   checkpoint::Training training{*model, &optimizer};
//   if (auto found = checkpoint::load_latest(world, "checkpoints", training)) done = found->update;
//   ...
//   checkpoint::save(world, "checkpoints", training, {.update = done, .extra = {{"next_file", 3}}});
//
// Saved and put back: parameters and buffers by name (tied ones once, with their further names), state and options of
// the optimizer by the names of its parameters, the learning rates (they are options), a scheduler's count of steps.
// Not saved: gradients, requires_grad, train or eval. A scheduler that keeps more than a count (ReduceLROnPlateau, one
// of your own): its values belong into `extra`, and the program puts them back.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/comm/world.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class LRScheduler;
class Optimizer;
}  // namespace torch::optim

namespace samegrad {
class AsyncSave;
}

namespace samegrad::checkpoint {

struct NamedGenerator {
  std::string name;
  at::Generator generator;
};

/// What a checkpoint is taken of, and put back into.
struct Training {
  torch::nn::Module& model;
  /// SGD, Adam, AdamW, RMSprop or Adagrad; null where there is none.
  torch::optim::Optimizer* optimizer = nullptr;
  /// StepLR, or another LRScheduler that keeps no more than its count of steps.
  torch::optim::LRScheduler* scheduler = nullptr;
  /// Generators from which this rank draws outside a window's atoms. They are each rank's own: such a checkpoint can be
  /// loaded by the same number of ranks only. What is drawn inside atoms needs none (Window seeds the generator).
  std::vector<NamedGenerator> generators = {};
  /// Whose checkpoints load_latest sees and pruning counts, among those of a folder.
  std::string run_id = "run";
};

/// Where the program is.
struct Progress {
  std::int64_t update = 0;  ///< updates done; it names the folder, step-<update>
  /// Values of the program, the same on all ranks. int64 and double come back with the same bits. An object.
  Json extra = Json::object();
  /// Further tensors, the same on all ranks: a moving average of the weights, say.
  std::map<std::string, at::Tensor> tensors = {};
  /// Values of this rank alone; null: none. With them, as with generators, only as many ranks can load.
  Json rank_extra = nullptr;
};

/// What load() found; everything else is in its place already.
struct Loaded : Progress {
  std::filesystem::path path;
};

/// Saves under `folder`/step-<update>, whole or not at all, in place of an older one of that name; then removes the
/// run's oldest until `keep` are left (0: keeps all), but none whose update `keep_every` divides (0: no such rule).
/// Newer ones, which are there where load() took an older one, are left alone, and load_latest() would take them:
/// remove them, or go on under another run_id. Rank 0 writes its own buffers: under DistributedDataParallel call
/// sync_buffers() before. Returns the path when it is on the disk. All ranks throw the same error: InputError for what
/// cannot be saved, naming it; CheckError where a rank's folder, parameters, optimizer state, update or extra values
/// are not rank 0's, naming rank and tensor; RunError where it cannot be written. Collective.
std::filesystem::path save(const World& world, const std::filesystem::path& folder, const Training& training,
                           const Progress& progress, std::int64_t keep = 0, std::int64_t keep_every = 0);

/// save() for training that goes on meanwhile: everything is copied in memory, and then written beside the training. At
/// most one is in flight. Every rank has one object and calls the same functions.
class AsyncSaver {
 public:
  AsyncSaver();
  /// Waits for a save in flight; call wait() before to learn whether it failed. Local.
  ~AsyncSaver();
  AsyncSaver(const AsyncSaver&) = delete;
  AsyncSaver& operator=(const AsyncSaver&) = delete;

  /// As save(), but it returns when the values have been copied; the path is not there before wait(). Waits first for a
  /// save in flight; where that one failed, all ranks throw its error and nothing new is begun. Collective.
  std::filesystem::path save(const World& world, const std::filesystem::path& folder, const Training& training,
                             const Progress& progress, std::int64_t keep = 0, std::int64_t keep_every = 0);

  /// Throws on all ranks what a save that has ended threw, once; does not wait. For each update, say. Collective.
  void check(const World& world);

  /// Waits for a save in flight and throws on all ranks what it threw. Before the program's end. Collective.
  void wait(const World& world);

 private:
  std::unique_ptr<AsyncSave> async_save_;  // rank 0's works, the others' have nothing to do
  std::int64_t update_ = 0;
};

/// Verifies the checkpoint at `path` (rank 0's, which all ranks must be able to read) and puts it into `training`.
/// Nothing is changed on any rank unless everything fits on all: all throw the same CheckError naming file and tensor
/// where it is damaged, or a tensor, optimizer, group or scheduler is missing, surplus or different here; InputError
/// where there is none at `path`, or where it has values of each rank and another number of ranks. Collective.
Loaded load(const World& world, const std::filesystem::path& path, const Training& training);

/// load() of the newest complete checkpoint of the run; none where there is none. Rank 0 chooses, and warns of those
/// that it passes over. Collective.
std::optional<Loaded> load_latest(const World& world, const std::filesystem::path& folder, const Training& training);

/// Puts only parameters and buffers into `model`, to evaluate it. Errors as load(). Collective.
void load_model(const World& world, const std::filesystem::path& path, torch::nn::Module& model);

}  // namespace samegrad::checkpoint

// A checkpoint is a folder: model.safetensors, optimizer.safetensors, state.json, extra.safetensors where a program has
// such tensors, rank-<virtual rank>.json, and manifest.json, written last (docs/formats.md). Complete or not there:
// saved aside, fsynced, renamed as a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/file_operations.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/run_legs.h"
#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// Where optimizer.safetensors' metadata has CheckpointContent::optimizer_options.
inline constexpr const char* kOptimizerOptionsKey = "options";

/// What a save puts into the folder. The bytes of model and optimizer depend on values alone: no world size, time,
/// path.
struct CheckpointContent {
  std::vector<TensorView> model;
  std::vector<TensorView> optimizer;
  std::map<std::string, std::string> model_metadata = {};  ///< of model.safetensors
  Json optimizer_options;  ///< kind, learning rate, ...: kept in optimizer.safetensors' metadata, as text
  /// state.json: run_id (a text, needed), plan cursor, schedule, config and digest, data lock. `update` is put in.
  Json state;
  std::vector<Json> rank_files;        ///< objects, one a virtual rank: rank-<i>.json. `virtual_rank` is put in
  Json manifest_facts;                 ///< world size, library versions, dispatch
  std::vector<TensorView> extra = {};  ///< extra.safetensors, which is written only where there are some
};

/// Saves under `checkpoints`/step-<update, 4 digits at least>: written in a hidden sibling folder, each file fsynced,
/// manifest last, the folder renamed (exchanged with an existing one in one step, the old one then removed), the parent
/// fsynced. What dead processes left of earlier saves is removed first. Returns the final path: it is on the disk.
/// Throws RunError naming path, bytes needed and free; nothing half written stays, and earlier checkpoints are what
/// they were. Local: rank 0 saves; the others wait in agree_no_failure.
std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, std::int64_t update,
                                      const CheckpointContent& content, FileOperations& files = real_files());

/// A verified checkpoint. Its tensors: SafetensorsFile(path / kModelFile) and (path / kOptimizerFile).
struct Checkpoint {
  std::filesystem::path path;
  std::int64_t update = 0;
  Manifest manifest;
  Json state;
  std::vector<Json> rank_files;
};

/// Reads and verifies everything: manifest's own digest, its format version, each file's size and SHA-256, no missing
/// and no unlisted file, regular files only (no symlinks), tensor files whole, rank files in their places, one update
/// and run id throughout, also in a step-<update> folder's name. Throws CheckError naming file and reason; InputError
/// where `path` is no folder or a file may not be read. Local.
Checkpoint verify_checkpoint(const std::filesystem::path& path);

/// The manifest of a checkpoint, verified in itself; the other files are not looked at. Throws as verify_checkpoint.
Manifest read_manifest(const std::filesystem::path& checkpoint);

/// The optimizer_options that were saved, with the same bits in every number. Throws CheckError. Local.
Json read_optimizer_options(const SafetensorsFile& optimizer);

/// One line of a listing.
struct CheckpointStatus {
  std::filesystem::path path;
  bool complete = false;
  std::int64_t update = 0;
  std::string run_id;      ///< empty where the manifest cannot be believed
  std::int64_t bytes = 0;  ///< of all files in it
  std::string problem;     ///< where not complete
};

struct ExaminedCheckpoint {
  CheckpointStatus status;
  std::optional<Checkpoint> verified;  ///< where complete
};

/// verify_checkpoint, with what is wrong as a result. Local.
ExaminedCheckpoint examine_checkpoint(const std::filesystem::path& path);

/// The step-<update> folders in `checkpoints`, by update; none where `checkpoints` is missing. Where a crash left a
/// replaced checkpoint aside and no successor, its hidden path is among them. Throws InputError where `checkpoints`
/// cannot be read. Local.
std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& checkpoints);

/// Each of checkpoint_folders, examined. Never throws for a damaged one. Local.
std::vector<CheckpointStatus> list_checkpoints(const std::filesystem::path& checkpoints);

struct LatestCheckpoint {
  std::optional<Checkpoint> found;
  std::vector<CheckpointStatus> passed_over;  ///< newer ones, newest first; `problem` says why
};

/// The newest complete checkpoint of run `run_id`. Passed over are damaged ones, other runs', and those that `legs`
/// says were taken back. Local: one rank looks and tells the others.
LatestCheckpoint find_latest(const std::filesystem::path& checkpoints, const std::string& run_id,
                             const RunLegs& legs = {});

/// Which checkpoints of a run outlive a newer one.
struct Retention {
  std::int64_t keep = 0;        ///< so many of the newest complete ones; 0: all
  std::int64_t keep_every = 0;  ///< and each whose update this divides; 0: none
  /// The update of the checkpoint that was just saved. Newer ones are of before a resume from an older one.
  std::int64_t saved = INT64_MAX;
};

/// Removes the complete checkpoints of run `run_id` that `retention` does not keep, oldest last. Neither touched nor
/// counted are damaged ones, other runs', those newer than the one just saved and those that `legs` says were taken
/// back; never removed is the newest complete one. A crash or a power loss in between leaves hidden folders
/// only. Returns what was removed. Throws RunError where one cannot be removed. Local.
std::vector<std::filesystem::path> prune_checkpoints(const std::filesystem::path& checkpoints,
                                                     const std::string& run_id, const Retention& retention,
                                                     FileOperations& files = real_files(), const RunLegs& legs = {});

}  // namespace samegrad

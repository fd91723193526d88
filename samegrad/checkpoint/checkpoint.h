// A checkpoint is a folder: model.safetensors, optimizer.safetensors, state.json, rank-<virtual rank>.json, and
// manifest.json, written last (docs/formats.md). Complete or not there: saved aside, fsynced, renamed as a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// What a save puts into the folder. The bytes of model and optimizer depend on values alone: no world size, time,
/// path.
struct CheckpointContent {
  std::vector<TensorView> model;
  std::vector<TensorView> optimizer;
  Json optimizer_options;        ///< kind, learning rate, ...: kept in optimizer.safetensors' metadata, as text
  Json state;                    ///< state.json: update, plan cursor, schedule, config and digest, data lock, run id
  std::vector<Json> rank_files;  ///< one a virtual rank: rank-<i>.json
  Json manifest_facts;           ///< world size, library versions, dispatch
};

/// Saves under `checkpoints`/step-<update, 4 digits at least>: written in a hidden sibling folder, each file fsynced,
/// manifest last, the folder renamed (exchanged with an existing one by renameat2, the old one then removed), the
/// parent fsynced. Returns the final path. Throws RunError naming path, bytes needed and free; nothing half written
/// stays. Local: one rank saves; the others wait in agree_no_failure.
std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, std::int64_t update,
                                      const CheckpointContent& content);

/// A verified checkpoint.
struct Checkpoint {
  std::filesystem::path path;
  std::int64_t update = 0;
  Json manifest;
  Json state;
  std::vector<Json> rank_files;
};

/// Reads and verifies everything: manifest's own digest, its format version, each file's size and SHA-256, no missing
/// and no unlisted file, rank files in their places. Throws CheckError naming file and reason. Local.
Checkpoint verify_checkpoint(const std::filesystem::path& path);

/// One line of a listing.
struct CheckpointStatus {
  std::filesystem::path path;
  bool complete = false;
  std::int64_t update = 0;
  std::string run_id;
  std::int64_t bytes = 0;
  std::string problem;  ///< where not complete
};

/// Every step-* folder in `checkpoints`, by update. Never throws for a damaged one. Local.
std::vector<CheckpointStatus> list_checkpoints(const std::filesystem::path& checkpoints);

/// Removes the oldest complete checkpoints of run `run_id` until `keep` are left (0: keeps all). Damaged ones and other
/// runs' are not touched, nor ever the newest complete one. Returns what was removed. Local.
std::vector<std::filesystem::path> prune_checkpoints(const std::filesystem::path& checkpoints,
                                                     const std::string& run_id, std::int64_t keep);

}  // namespace samegrad

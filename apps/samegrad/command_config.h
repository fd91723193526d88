// Which config and which checkpoint a command line means. Torch-free: the front and the worker ask the same.
#pragma once

#include <filesystem>
#include <string>

#include "apps/samegrad/command_line.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

/// The legs of run `run_id`, where it is the folder's current run; none otherwise. Throws InputError. Local.
RunLegs run_legs(const RunPaths& paths, const std::string& run_id);

/// The newest complete checkpoint of the folder's current run, and what was passed over. Local.
LatestCheckpoint latest_checkpoint(const RunPaths& paths);

/// Verifies the checkpoint that `verify --checkpoint` names, a path or "latest". Throws as verify_checkpoint, and
/// InputError where there is no latest one. Local.
Checkpoint checkpoint_to_verify(const CommandLine& line);

/// --config, or the lesson; for `verify --checkpoint` without --config, what the checkpoint was trained with. Then
/// --set. Throws InputError, CheckError. Local.
RunConfig command_config(const CommandLine& line);

/// Throws InputError (stage `stage`) where there is no folder of a run. Local.
void require_run_folder(std::string_view stage, const RunPaths& paths);

/// The configuration that a verified checkpoint's training had. Throws CheckError naming the file where there is none.
/// Local.
RunConfig config_of(const Checkpoint& checkpoint);

}  // namespace samegrad

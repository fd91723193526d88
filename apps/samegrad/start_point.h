// Where a training starts: at update 0 under a new run id, or at a checkpoint under its run id.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "apps/samegrad/command_line.h"
#include "apps/samegrad/run_context.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/train/train_state.h"

namespace samegrad {

struct StartPoint {
  TrainState state;
  std::string run_id;
  std::optional<std::filesystem::path> resumed_from;
};

/// The verified checkpoint that `resume` means: a path, "latest" (the newest complete one of the current run; it is an
/// error if there is none) or "auto" (latest, else none); none where it is empty. Damaged newer checkpoints that are
/// passed over are named. Throws InputError where its config is another than a resume may have. Local: rank 0 chooses.
std::filesystem::path choose_checkpoint(const RunContext& context, const std::string& resume);

/// Throws InputError where the training shall stop at an update that its plan does not have; where the plan is counted
/// in epochs, only the data tell. Local.
void check_stop_at(const RunContext& context, const CommandLine& command);

/// All that a resume from this checkpoint needs, restored; rank 0 tells what a person should know. Throws InputError,
/// CheckError where it does not belong to the run, is past --stop-at, or was made under another dispatch (unless
/// --allow-other-dispatch). Local.
StartPoint resume_from(const RunContext& context, const std::filesystem::path& checkpoint, const CommandLine& command);

/// From rank 0's `checkpoint`, or, where that is none, a new run from outputs/init.safetensors. All ranks take the
/// same. `resumed`: the start, where rank 0 has it already. Collective.
StartPoint start_from(RunContext& context, const std::filesystem::path& checkpoint, std::optional<StartPoint> resumed,
                      const CommandLine& command);

}  // namespace samegrad

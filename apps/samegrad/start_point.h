// Where a training starts: at update 0 under a new run id, or at a checkpoint under its run id.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "apps/samegrad/run_context.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/train/train_state.h"

namespace samegrad {

struct StartPoint {
  TrainState state;
  std::string run_id;
  std::optional<std::filesystem::path> resumed_from;
};

/// `resume`: empty (a new run from outputs/init.safetensors), a checkpoint's path, "latest" (the newest complete one of
/// the current run; it is an error if there is none) or "auto" (latest, else a new run). Rank 0 chooses and verifies;
/// all ranks take the same, and refuse one that was made under another dispatch unless `allow_other_dispatch`. Damaged
/// newer checkpoints that are passed over are named. Collective.
StartPoint choose_start(RunContext& context, const std::string& resume, bool allow_other_dispatch);

}  // namespace samegrad

#include "apps/samegrad/start_point.h"

#include <array>
#include <cstdio>
#include <random>

#include "apps/samegrad/command_config.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/resume_rules.h"
#include "samegrad/checkpoint/saved_dispatch.h"
#include "samegrad/checkpoint/training_checkpoint.h"

namespace samegrad {
namespace {

std::string new_run_id() {
  std::random_device device;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", device(), device());
  return text.data();
}

// The checkpoint to go on from, or "" for a new run.
std::filesystem::path choose_checkpoint(const RunPaths& paths, const std::string& resume) {
  if (resume.empty()) return {};
  if (resume != "latest" && resume != "auto") return resume;
  const LatestCheckpoint latest = latest_checkpoint(paths);
  for (const CheckpointStatus& passed : latest.passed_over) {
    log_warn("[resume] passed over " + passed.path.string() + ": " + passed.problem);
  }
  if (latest.found) return latest.found->path;
  if (resume == "auto") return {};
  throw InputError("resume", "latest: no complete checkpoint of the current run in " + paths.checkpoints.string() +
                                 "; give a checkpoint's path, use --resume auto, or train without --resume");
}

}  // namespace

StartPoint choose_start(RunContext& context, const std::string& resume, bool allow_other_dispatch) {
  std::string chosen;
  std::string run_id;
  together(*context.comm, "resume", 0, context.timeout(), [&] {
    if (!context.leader()) return;
    chosen = choose_checkpoint(context.paths, resume).string();
    if (!chosen.empty()) verify_checkpoint(chosen);
    run_id = new_run_id();
  });
  chosen = share_text(*context.comm, chosen, context.timeout());
  StartPoint start{.state = initial_state(context.config),
                   .run_id = share_text(*context.comm, run_id, context.timeout()),
                   .resumed_from = std::nullopt};
  together(*context.comm, "start", 0, context.timeout(), [&] {
    if (chosen.empty()) {
      load_parameters(context.paths.init, start.state.parameters);
      return;
    }
    const Checkpoint checkpoint = verify_checkpoint(chosen);
    for (const std::string& note : check_resume(checkpoint, context.config, *context.run.plan, context.run.data.lock)) {
      if (context.leader()) log_warn("[resume] " + note);
    }
    const std::string warning = check_saved_dispatch(checkpoint, context.dispatch, allow_other_dispatch);
    if (context.leader() && !warning.empty()) log_warn(warning);
    restore_training(checkpoint, start.state);
    start.run_id = checkpoint.state.at("run_id").get<std::string>();
    start.resumed_from = chosen;
  });
  return start;
}

}  // namespace samegrad

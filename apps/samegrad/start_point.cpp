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

std::filesystem::path path_of_checkpoint(const RunPaths& paths, const std::string& resume) {
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

std::filesystem::path choose_checkpoint(const RunContext& context, const std::string& resume) {
  std::filesystem::path chosen = path_of_checkpoint(context.paths, resume);
  if (!chosen.empty()) check_resume_config(verify_checkpoint(chosen), context.config);
  return chosen;
}

StartPoint start_from(RunContext& context, const std::filesystem::path& checkpoint, bool allow_other_dispatch) {
  const std::string chosen = share_text(*context.comm, checkpoint.string(), context.timeout());
  StartPoint start{.state = initial_state(context.config),
                   .run_id = share_text(*context.comm, new_run_id(), context.timeout()),
                   .resumed_from = std::nullopt};
  together(*context.comm, "start", 0, context.timeout(), [&] {
    if (chosen.empty()) {
      load_parameters(context.paths.init, start.state.parameters);
      return;
    }
    const Checkpoint verified = verify_checkpoint(chosen);
    for (const std::string& note : check_resume(verified, context.config, *context.run.plan, context.run.data.lock)) {
      if (context.leader()) log_warn("[resume] " + note);
    }
    const std::string warning = check_saved_dispatch(verified, context.dispatch, allow_other_dispatch);
    if (context.leader() && !warning.empty()) log_warn(warning);
    restore_training(verified, start.state);
    start.run_id = verified.state.at("run_id").get<std::string>();
    start.resumed_from = chosen;
  });
  return start;
}

}  // namespace samegrad

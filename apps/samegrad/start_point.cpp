#include "apps/samegrad/start_point.h"

#include <array>
#include <cstdio>
#include <random>
#include <utility>

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

void check_stop_at(const RunContext& context, const CommandLine& command) {
  const std::int64_t stop_at = context.config.plan.stop_at;
  const std::int64_t updates = context.run.plan->updates();
  if (stop_at <= updates) return;
  throw InputError("config",
                   std::string(command.stop_at > 0 ? "--stop-at" : "plan.stop_at") + ": " + std::to_string(stop_at) +
                       " is past the last update; plan.epochs = " + std::to_string(context.config.plan.epochs) +
                       " of these data are " + std::to_string(updates) +
                       " updates: give one up to that, or plan.stop_at: 0 (also --continuous) to train to "
                       "the end");
}

StartPoint resume_from(const RunContext& context, const std::filesystem::path& checkpoint, const CommandLine& command) {
  const Checkpoint verified = verify_checkpoint(checkpoint);
  const std::vector<std::string> notes =
      check_resume(verified, context.config, *context.run.plan, context.run.data.lock);
  const std::string warning = check_saved_dispatch(verified, context.dispatch, command.allow_other_dispatch);
  if (command.stop_at > 0 && command.stop_at < verified.update) {
    throw InputError("resume", "--stop-at: " + std::to_string(command.stop_at) + "; " + checkpoint.string() +
                                   " is past it, at update " + std::to_string(verified.update) + " of " +
                                   std::to_string(context.run.plan->updates()) +
                                   "; give a later one, or an earlier checkpoint");
  }
  StartPoint start{.state = initial_state(context.config),
                   .run_id = verified.state.at("run_id").get<std::string>(),
                   .resumed_from = checkpoint};
  restore_training(verified, start.state);
  if (context.leader()) {
    for (const std::string& note : notes) log_warn("[resume] " + note);
    if (!warning.empty()) log_warn(warning);
  }
  return start;
}

StartPoint start_from(RunContext& context, const std::filesystem::path& checkpoint, std::optional<StartPoint> resumed,
                      const CommandLine& command) {
  const std::string chosen = share_text(*context.comm, checkpoint.string(), context.timeout());
  const std::string run_id = share_text(*context.comm, new_run_id(), context.timeout());
  std::optional<StartPoint> start = std::move(resumed);
  together(*context.comm, "start", 0, context.timeout(), [&] {
    if (start) return;
    if (!chosen.empty()) {
      start = resume_from(context, chosen, command);
      return;
    }
    start = StartPoint{.state = initial_state(context.config), .run_id = run_id, .resumed_from = std::nullopt};
    load_parameters(context.paths.init, start->state.parameters);
  });
  return *std::move(start);
}

}  // namespace samegrad

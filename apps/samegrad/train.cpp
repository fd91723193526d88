#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_run.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/stop_deadline.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {
namespace {

/// Called where the rest of the process may hang: it ends here.
[[noreturn]] void end_late(const TrainingProgress& progress, std::int64_t grace_s) {
  const std::int64_t saved = progress.saved;
  const std::string line =
      "[stop] signal " + std::to_string(stop_signal()) + " came " + std::to_string(grace_s) + " s ago, and update " +
      std::to_string(progress.update) + " is not saved; " +
      (saved < 0 ? "this run has no checkpoint" : "the newest checkpoint is of update " + std::to_string(saved)) +
      "; give more time with --grace, or save more often (checkpoint.every)";
  write_failure_report({read_worker_environment().rank, static_cast<int>(ExitCode::kRunFailed), line});
  _exit(static_cast<int>(ExitCode::kRunFailed));
}

}  // namespace

int run_train(const CommandLine& command) {
  install_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the output that goes away ends no training; the exit code tells it
  TrainingProgress progress;
  const StopDeadline deadline(std::chrono::seconds(command.grace_s), [&] { end_late(progress, command.grace_s); });
  std::filesystem::path checkpoint;   // rank 0's choice
  std::optional<StartPoint> resumed;  // and what it has read of it
  return in_run_context(
      command,
      [&](RunContext& context) {
        StartPoint start = start_from(context, checkpoint, std::exchange(resumed, std::nullopt), command);
        return TrainingRun(context, command, std::move(start), progress).run();
      },
      {.by_config = [&](const RunContext& context) { checkpoint = choose_checkpoint(context, command.resume); },
       .by_data =
           [&](const RunContext& context) {
             check_stop_at(context, command);
             if (!checkpoint.empty()) resumed = resume_from(context, checkpoint, command);
           }});
}

}  // namespace samegrad

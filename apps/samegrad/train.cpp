// `samegrad train`: what it is allowed to start from, and the training.
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/late_stop.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_run.h"
#include "samegrad/checkpoint/replaceable.h"
#include "samegrad/launch/stop_deadline.h"
#include "samegrad/launch/worker_signals.h"
#include "samegrad/report/metrics.h"

namespace samegrad {

int run_train(const CommandLine& command) {
  install_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the output that goes away ends no training; the exit code tells it
  LateStop late(command.grace_s);
  const StopDeadline deadline(std::chrono::seconds(command.grace_s), [&] { late.end(); });
  std::filesystem::path checkpoint;   // rank 0's choice
  std::optional<StartPoint> resumed;  // and what it has read of it
  return in_run_context(
      command,
      [&](RunContext& context) {
        StartPoint start = start_from(context, checkpoint, std::exchange(resumed, std::nullopt), command);
        return TrainingRun(context, command, std::move(start), late.progress).run();
      },
      {.by_config = [&](const RunContext& context) { checkpoint = choose_checkpoint(context, command.resume); },
       .by_data =
           [&](const RunContext& context) {
             check_stop_at(context, command);
             if (!checkpoint.empty()) resumed = resume_from(context, checkpoint, command);
             if (command.dry_run) return;
             MetricsLog::check(context.paths.metrics, resumed ? resumed->run_id : "");
             require_replaceable(context.paths.checkpoints, resumed ? resumed->state.update : 0,
                                 context.run.plan->updates());
           }},
      [&](const Communicator& comm) { return late.watch(comm); });
}

}  // namespace samegrad

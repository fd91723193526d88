#include <filesystem>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_run.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {

int run_train(const CommandLine& command) {
  install_stop_signals();
  std::filesystem::path checkpoint;  // rank 0's choice
  return in_run_context(
      command,
      [&](RunContext& context) {
        return TrainingRun(context, command, start_from(context, checkpoint, command.allow_other_dispatch)).run();
      },
      [&](const RunContext& context) { checkpoint = choose_checkpoint(context, command.resume); });
}

}  // namespace samegrad

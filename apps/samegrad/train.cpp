#include "apps/samegrad/commands.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_run.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {

int run_train(const CommandLine& command) {
  install_stop_signals();
  return in_run_context(command, [&](RunContext& context) {
    return TrainingRun(context, command, choose_start(context, command.resume, command.allow_other_dispatch)).run();
  });
}

}  // namespace samegrad

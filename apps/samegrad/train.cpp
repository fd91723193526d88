#include "apps/samegrad/commands.h"
#include "apps/samegrad/start_point.h"
#include "apps/samegrad/training_run.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {

int run_train(const CommandLine& command) {
  install_stop_signals();
  RunContext context = open_run_context(command);
  StartPoint start = choose_start(context, command.resume);
  return TrainingRun(context, command, std::move(start)).run();
}

}  // namespace samegrad

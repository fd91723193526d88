// The subcommands, one file each. Each prints its results on standard output and returns the exit code; it throws where
// it cannot go on.
#pragma once

#include <string_view>

#include "apps/samegrad/command_line.h"

namespace samegrad {

// Run by the front: torch-free.
int run_acquire(const CommandLine& command);
int run_check_loss(const CommandLine& command);
int run_checkpoints(const CommandLine& command);
int run_clean(const CommandLine& command);
int run_config(const CommandLine& command);
int run_demo(const CommandLine& command);
int run_diagnose(const CommandLine& command);
int run_env(const CommandLine& command);
int run_launch(const CommandLine& command);
int run_plot(const CommandLine& command);
int run_prepare(const CommandLine& command);
int run_simulate(const CommandLine& command);
int run_status(const CommandLine& command);
int run_stop(const CommandLine& command);
int run_verify_resume(const CommandLine& command);
int run_version(const CommandLine& command);

// Run by the worker.
int run_bisect(const CommandLine& command);
int run_env_dual(const CommandLine& command);
int run_evaluate(const CommandLine& command);
int run_env_cost(const CommandLine& command);  ///< env --measure-cost, inside a worker
int run_exercise(const CommandLine& command);
int run_generate(const CommandLine& command);
int run_reference(const CommandLine& command);
int run_train(const CommandLine& command);
int run_verify(const CommandLine& command);

struct Command {
  std::string_view name;
  int (*run)(const CommandLine&);
};

/// The command of that name that this program runs itself; nullptr where the other program does. Defined once in each
/// program (front_commands.cpp, worker_commands.cpp).
const Command* find_command(std::string_view name);

}  // namespace samegrad

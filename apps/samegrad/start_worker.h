// From the front to samegrad-worker.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/config/run_config.h"
#include "samegrad/launch/launch.h"

namespace samegrad {

/// samegrad-worker beside the running program (beside what a link to it leads to). Throws RunError where it is not.
/// Local.
std::filesystem::path worker_path();

/// Runs the command in samegrad-worker with the pinned environment: in `line.nproc` processes that this one watches,
/// or, without a number, in this process's place, as a launcher that started it expects (then it does not return).
/// Without a number, too, watched processes are started where accelerate started one for several, and by evaluate,
/// exercise and verify where nobody launched them (plan.virtual_ranks). Checks the config before anything starts, where
/// the command has one. Throws InputError, RunError. Local.
int run_in_workers(const CommandLine& line, int argc, const char* const* argv);

/// What `settings` and the configuration's `run` say about a launch; program and arguments are the caller's. Local.
LaunchOptions launch_options(const RunSection& run, int processes, const LaunchSettings& settings);

/// Logs what workers failed of; the launcher's exit code. Local.
int log_launch(const LaunchResult& result);

/// Runs `arguments` in `processes` watched workers and logs what they failed of. `output_fd` takes what they print; -1:
/// this program's own output does. Local.
int launch_and_report(const RunSection& run, int processes, std::vector<std::string> arguments, int output_fd = -1);

}  // namespace samegrad

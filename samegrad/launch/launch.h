// Starts the processes of a run on this host, watches them all at once, and leaves none behind.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "samegrad/launch/launch_summary.h"
#include "samegrad/launch/pinned_environment.h"

namespace samegrad {

struct LaunchOptions {
  std::string program;                 ///< path of the executable; not searched for in PATH
  std::vector<std::string> arguments;  ///< without the program's name
  int processes = 1;
  bool share_memory = true;                     ///< false: the workers meet in a file and talk over gloo
  EnvironmentVariables environment;             ///< for every worker, beside the launcher's own
  int output_fd = -1;                           ///< takes their standard output and error; -1: the launcher's own do
  std::chrono::milliseconds grace{3'000};       ///< from the first failure until the others get SIGTERM
  std::chrono::milliseconds term_grace{3'000};  ///< from then until they get SIGKILL
};

/// Starts `processes` workers with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, SAMEGRAD_REPORT_FD and
/// SAMEGRAD_SHM_FD or SAMEGRAD_STORE_FD set, and returns when all have ended.
///
/// After the first failure the others may end by themselves for `grace`, as their own waits find the failed peer; then
/// SIGTERM, then SIGKILL. A SIGUSR1 to the launcher is passed on, and so is a first SIGINT or SIGTERM; another, at
/// least 0.1 s later
/// (`timeout` sends its signal twice), kills the workers. They die with the thread that called this. Throws InputError
/// for a number of processes outside 1..kMostLocalProcesses, RunError where a worker cannot be started. Local.
LaunchResult launch_workers(const LaunchOptions& options);

}  // namespace samegrad

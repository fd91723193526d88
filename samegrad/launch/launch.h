// Starts the processes of a run on this host, watches them all at once, starts them again where that is wished, and
// leaves none behind.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/launch/launch_summary.h"
#include "samegrad/launch/output_relay.h"
#include "samegrad/launch/pinned_environment.h"
#include "samegrad/launch/restart_policy.h"
#include "samegrad/launch/store_port.h"

namespace samegrad {

struct LaunchOptions {
  std::string program;                 ///< path of the executable; not searched for in PATH
  std::vector<std::string> arguments;  ///< without the program's name
  int processes = 1;
  bool share_memory = true;          ///< false: the workers meet in a file and talk over gloo
  EnvironmentVariables environment;  ///< for every worker, beside the launcher's own
  OutputOptions output;
  bool workers_report = true;                    ///< they are samegrad's own: what they fail of is in a report
  bool torchrun_environment = false;             ///< they also get what programs for torchrun expect
  std::string run_id = "none";                   ///< TORCHELASTIC_RUN_ID
  StoreKeeper store;                             ///< for torch.distributed; without a program: none
  std::chrono::milliseconds grace{3'000};        ///< from the first failure until the others get SIGTERM
  std::chrono::milliseconds term_grace{3'000};   ///< from then until they get SIGKILL
  std::chrono::milliseconds stop_grace{30'000};  ///< from a signal that was passed on until they get SIGKILL
  RestartLimits restarts;
  /// The arguments of the next restart. May be empty: `arguments`.
  std::function<std::vector<std::string>()> restart_arguments;
  /// Names how far the run has come, such as its newest checkpoint; another text is progress. May be empty.
  std::function<std::string()> progress;
  /// Where LaunchResult::failure is written; "": nowhere. What is there from an older launch is removed at the start.
  std::filesystem::path failure_json;
};

/// Starts `processes` workers with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, SAMEGRAD_REPORT_FD and
/// SAMEGRAD_SHM_FD or SAMEGRAD_STORE_FD set, and returns when all have ended, and all processes that they started.
///
/// After the first failure the others may end by themselves for `grace`, as their own waits find the failed peer; then
/// SIGTERM, then SIGKILL. A first SIGINT or SIGTERM to the launcher is passed on; another, at least 0.1 s later
/// (`timeout` sends its signal twice), kills the workers. SIGHUP counts as SIGTERM, SIGUSR1 is passed on each time.
/// What workers started and left running has 0.5 s to end by itself, then SIGTERM, then SIGKILL.
///
/// The work is done in a child of a child process (guarded_launch.h): workers are this process's great-grandchildren.
/// Whichever one or two of the three die, no worker and no process of theirs outlives them; where all three die at
/// once, no worker does.
///
/// Throws InputError for a number of processes outside 1..kMostLocalProcesses and for output options, a failure file
/// and store addresses that cannot be, and for a program that cannot be started; RunError where no process can be had.
/// Local.
LaunchResult launch_workers(const LaunchOptions& options);

}  // namespace samegrad

// One process that a launcher started.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/pinned_environment.h"

namespace samegrad {

/// What to start. The descriptors stay the caller's.
struct WorkerProgram {
  std::string path;
  std::vector<std::string> arguments;  ///< without the program's name
  EnvironmentVariables environment;    ///< replaces variables of the same name, beside the launcher's own
  std::vector<int> inherited_fds;      ///< stay open in the worker under the same numbers
  int output_fd = -1;                  ///< becomes its standard output; -1: it has the launcher's
  int error_fd = -1;                   ///< becomes its standard error; -1: it has the launcher's
  sigset_t signal_mask{};
};

/// How a worker ended: by exit code, or by a signal.
struct WorkerEnd {
  int exit_code = 0;
  int signal = 0;  ///< 0: it ended by itself
};

/// Owns a running child: a process group of its own, without standard input, SIGPIPE as a program expects it, killed by
/// the kernel when the thread that started it ends. The destructor kills and reaps it.
class WorkerProcess {
 public:
  /// Starts the program and returns when it runs; adds SAMEGRAD_REPORT_FD to its environment. Throws InputError
  /// where it is no program that can be started, RunError where no process can be had. Local.
  explicit WorkerProcess(const WorkerProgram& program);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  int pid() const { return pid_; }
  bool running() const { return running_; }
  /// To the worker and the processes it started. Nothing once it was reaped. Local.
  void send(int signal) const;
  /// Its end, once. Never blocks. Local.
  std::optional<WorkerEnd> reap();
  /// What it wrote about its failure; to be read once, after its end. Never blocks. Local.
  std::optional<FailureReport> read_report() const;

 private:
  int pid_ = -1;
  bool running_ = false;
  int report_fd_ = -1;
};

}  // namespace samegrad

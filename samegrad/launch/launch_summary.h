// What a launcher says about workers that failed: the first culprit, then what followed from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/worker_process.h"

namespace samegrad {

/// A worker that has ended.
struct WorkerOutcome {
  int rank = 0;
  int pid = 0;
  WorkerEnd end;
  bool ended_by_launcher = false;  ///< made to end: another one had failed, or a second signal came
  std::optional<FailureReport> report;
};

struct LaunchResult {
  int exit_code = 0;
  /// What a person should read, most important first; empty where all went well or stopped when asked.
  std::vector<std::string> lines;
};

/// `outcomes` in the order in which the workers ended; `passed_signal`: what the launcher was asked to stop with, or 0.
///
/// The culprit is the first worker that failed by itself and not as the consequence of another; the exit code is its
/// own, or 128 + signal. Where all that failed give the same line, that line alone is the text. Workers that ended with
/// 128 + SIGTERM or SIGINT and no report, or by `passed_signal`, stopped as asked; where nothing failed by
/// itself, the exit code is 128 + signal. Local.
LaunchResult summarize_launch(std::span<const WorkerOutcome> outcomes, int passed_signal);

/// Whether the worker failed, by itself or not (false: it was done, or stopped as asked). Local.
bool has_failed(const WorkerOutcome& outcome, int passed_signal);

}  // namespace samegrad

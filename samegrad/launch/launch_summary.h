// What a launcher says about workers that failed: the first culprit, then what followed from it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/launch/worker_outcome.h"

namespace samegrad {

struct LaunchResult {
  int exit_code = 0;
  /// What a person should read, most important first; empty where all went well or stopped when asked.
  std::vector<std::string> lines;
  /// The same for programs, null where `lines` is empty: {"exit_code", "culprit", "consequences", "lines"}
  /// (docs/launchers.md).
  Json failure;
  int culprit_rank = -1;  ///< -1: none
};

/// What the launcher knows beside the ends.
struct LaunchFacts {
  int passed_signal = 0;        ///< what it was asked to stop with, or 0
  bool workers_report = false;  ///< its workers are samegrad's own, which leave their message in a report
  std::string host{};           ///< this host's name
};

/// `outcomes` in the order in which the workers ended.
///
/// The culprit is find_culprit's (culprit.h); the exit code is its own, or 128 + signal; where it did not fail, that of
/// the first that failed because of it. Where all that failed give the same line, that line alone is the text.
/// Workers that ended with 128 + SIGTERM, SIGINT or SIGHUP and no report, or by the passed signal, stopped as asked;
/// where nothing failed by itself, the exit code is 128 + signal. Local.
LaunchResult summarize_launch(std::span<const WorkerOutcome> outcomes, const LaunchFacts& facts);

}  // namespace samegrad

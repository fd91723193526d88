// What the figures show, from the lines of outputs/metrics.jsonl.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/report/figures.h"

namespace samegrad {

struct RunHistory {
  LossHistory loss;
  std::vector<WindowTokens> windows;  ///< of the continuous run; without one, of the stopped and the resumed
  std::vector<RankWork> ranks;        ///< sums over the same windows; by rank
};

/// Calls its argument for each line of a metrics.jsonl, in file order; the same lines whenever it is called.
using MetricsLines = std::function<void(const std::function<void(const Json&)>&)>;

/// Takes the last run of each kind: of `resumed` and `stopped`, the stopped one that was resumed where it is there. No
/// line is kept: what stays of one are the numbers that a figure shows, of 4,000,000 windows and ranks at most. Lines
/// that are no object or lack their numbers, and more windows than that, throw InputError (stage "plot"). Local.
RunHistory run_history(const MetricsLines& lines);

/// Of lines that are in memory.
RunHistory run_history(std::span<const Json> metrics_lines);

}  // namespace samegrad

// What the figures show, from the lines of outputs/metrics.jsonl.
#pragma once

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

/// Takes the last run of each kind: of `resumed` and `stopped`, the stopped one that was resumed where it is there.
/// Lines that are no object or lack their numbers throw InputError (stage "plot"). Local.
RunHistory run_history(std::span<const Json> metrics_lines);

}  // namespace samegrad

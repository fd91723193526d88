// What a training tells while it runs: lines of outputs/metrics.jsonl, progress, and the sums for the summary. On rank
// 0 only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/report/metrics.h"
#include "samegrad/report/progress.h"
#include "samegrad/train/evaluate.h"
#include "samegrad/train/trainer.h"

namespace samegrad {

/// The line of one update (docs/formats.md). Local.
Json metrics_line(const UpdateResult& result, const std::optional<Evaluation>& validation);

/// {"loss","loss_sum","supervised_tokens","samples","correct",...} of an evaluation. Local.
Json evaluation_to_json(const Evaluation& evaluation);

class TrainingLog {
 public:
  /// `every`: updates between progress lines where standard error is no terminal.
  TrainingLog(MetricsLog metrics, std::int64_t first_update, std::int64_t last_update, std::int64_t every);

  /// Writes the update's line and shows progress.
  void update_done(const UpdateResult& result, const std::optional<Evaluation>& validation);

  /// What was done so far.
  RunSummary summary() const;

 private:
  std::string progress_of(const UpdateResult& result) const;

  MetricsLog metrics_;
  std::int64_t first_update_;
  std::int64_t last_update_;
  std::int64_t every_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  RunSummary summary_;
  bool any_loss_ = false;
};

}  // namespace samegrad

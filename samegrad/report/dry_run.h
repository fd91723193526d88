// What `train --dry-run` shows: what would happen, from counts alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/objective/loss_sum.h"
#include "samegrad/plan/cost_balance.h"
#include "samegrad/report/memory_estimate.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// One rank's part of the first window.
struct RankWindow {
  std::int64_t atoms = 0;
  std::int64_t samples = 0;
  std::int64_t input_tokens = 0;
  std::int64_t supervised_tokens = 0;
  LossSum units{};  ///< its part of N; no loss was computed
};

struct DryRun {
  std::vector<std::string> data_lines{};  ///< what was read, cut and skipped (data/ingest_report.h)
  MemoryEstimate memory{};                ///< of one rank
  std::int64_t first_update = 1;
  std::vector<RankWindow> first_window{};     ///< by rank
  CostBalance cost{};                         ///< of the first window
  std::string counted = "supervised tokens";  ///< what N counts
};

/// Data, memory, and the first window by rank with what its fullest rank holds above the mean. Local.
std::string dry_run_tables(const DryRun& dry_run, const TextStyle& style);

}  // namespace samegrad

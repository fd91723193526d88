// Where two trainings of one plan part, told from their lines of metrics.jsonl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad {

/// A run's lines of metrics.jsonl by update.
using UpdateLines = std::map<std::int64_t, Json>;

/// The lines of run `run_id`, by update; of several for one update the last. Lines without an update are left out.
/// Local.
UpdateLines lines_of_run(std::span<const Json> lines, const std::string& run_id);

struct RunDivergence {
  std::int64_t update = 0;
  /// The members of the update's line that differ; empty: one of the two runs has no line for it.
  std::vector<std::string> fields;

  bool operator==(const RunDivergence&) const = default;
};

/// The first update of 1..last_update whose lines differ, or that one of the two lacks. Everything in a line must be
/// equal but for what names the run, what was measured with a clock, and each rank's share of the work. A validation is
/// compared where both runs made one. Local.
std::optional<RunDivergence> first_divergence(const UpdateLines& reference, const UpdateLines& other,
                                              std::int64_t last_update);

}  // namespace samegrad

// From measured times to the costs of plan.balance lpt.
#pragma once

#include <cstdint>
#include <span>

#include "samegrad/plan/sample_cost.h"

namespace samegrad {

struct MeasuredCost {
  std::int64_t tokens = 0;  ///< input tokens of a sample, at least 1
  double seconds = 0.0;     ///< of one such sample, more than 0
};

struct CostFit {
  SampleCost cost;
  double largest_error = 0.0;  ///< of a measured length: |fitted - measured| / measured
};

/// The per_token, per_token_pair >= 0 with the least sum of squares of (fitted - measured) / measured. Requires two or
/// more different lengths. Local.
CostFit fit_cost(std::span<const MeasuredCost> measured);

}  // namespace samegrad

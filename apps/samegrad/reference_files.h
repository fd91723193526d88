// outputs/reference.safetensors and outputs/reference-float64.safetensors: made once for a plan, data and initial
// weights, and made again when these change.
#pragma once

#include <cstdint>

#include "apps/samegrad/run_context.h"
#include "samegrad/objective/loss_sum.h"

namespace samegrad {

struct ReferenceFiles {
  LossSum loss;  ///< of the first window, float64
  std::int64_t supervised_tokens = 0;
};

/// Computes and writes both files. Local.
ReferenceFiles write_reference(const RunContext& context);

/// Whether both files were made for this run's digest and initial weights. Local.
bool reference_is_current(const RunContext& context);

}  // namespace samegrad

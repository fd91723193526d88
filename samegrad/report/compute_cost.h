// How many floating-point operations a training takes, from sizes alone.
#pragma once

#include <cstdint>

#include "samegrad/config/run_config.h"

namespace samegrad {

/// Of forward and backward over a sequence of `tokens` tokens: matrix products alone, an addition and a multiplication
/// each counted (docs/simulate.md). Local.
double sequence_operations(const ModelConfig& model, std::int64_t tokens);

}  // namespace samegrad

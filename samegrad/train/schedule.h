// The learning rate of a step.
#pragma once

#include <cstdint>

#include "samegrad/config/run_config.h"

namespace samegrad {

/// Learning rate of optimizer step `step` (from 1) of `total_steps`: linear warm-up from 1/warmup to 1 of the
/// configured rate, then constant, or linear or cosine decay to minimum_factor of it at the last step. Uses libm's cos:
/// computed on rank 0 and sent, so that ranks cannot differ. Local.
double learning_rate_at(std::int64_t step, std::int64_t total_steps, double learning_rate,
                        const ScheduleConfig& schedule);

}  // namespace samegrad

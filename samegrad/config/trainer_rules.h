// What names of the Trainer mean only together: its warm-up, and its "strategies" beside its numbers of steps.
#pragma once

#include <span>

#include "samegrad/config/origins.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/yaml_source.h"

namespace samegrad {

/// Applies warmup_ratio, and refuses combinations in which the Trainer would ignore one of the names. `given` is all
/// that was said, in order; `config` and `origins` are the result of it so far. Throws InputError. Local.
void apply_trainer_rules(std::span<const Assignment> given, RunConfig& config, Origins& origins);

}  // namespace samegrad

// How long samples of several lengths take on this machine: what a person fits the costs of plan.balance lpt to.
#pragma once

#include <cstdint>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/plan/cost_fit.h"

namespace samegrad {

/// The lengths that are measured: `longest` / 16, / 8, / 4, / 2 and `longest`, those of 1 and more. Local.
std::vector<std::int64_t> lengths_to_measure(std::int64_t longest);

/// Times forward and backward of the config's model, with its initial weights, for each length: an atom of as many
/// equal samples as come near, and not above, 4 times the longest length in tokens. The least processor time of several
/// rounds, in which the lengths take turns: at least 3, at most 40, and no new one after 5 s. One more round before
/// them warms up. One thread. Depends on the machine, so no run may call it. Local.
std::vector<MeasuredCost> measure_cost(const RunConfig& config, std::int64_t longest);

}  // namespace samegrad

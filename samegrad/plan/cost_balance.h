// How even a window is: over its atoms, and over the ranks that share them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/data/sample_source.h"
#include "samegrad/plan/sample_cost.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The largest cost over the mean cost: 1 is perfect, and what the others wait for.
struct CostBalance {
  double atoms = 1.0;
  double ranks = 1.0;
};

/// The cost of each atom of `window`, whoever planned it. Local.
std::vector<double> atom_costs(const PlanWindow& window, const SampleSource& train, const SampleCost& cost);

/// The largest value over the mean. 1 where all are 0. Requires one or more. Local.
double largest_over_mean(std::span<const double> costs);

/// Of `world_size` ranks with the atoms that rank_ranges gives them. Requires one or more atoms. Local.
CostBalance cost_balance(std::span<const double> atoms, std::int64_t world_size);

}  // namespace samegrad

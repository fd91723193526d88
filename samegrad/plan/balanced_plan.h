// A plan whose atoms cost alike: plan.balance lpt.
#pragma once

#include <cstdint>
#include <memory>

#include "samegrad/data/sample_source.h"
#include "samegrad/plan/sample_cost.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// Rule "<that of plan>+lpt-1". Each window holds the samples of `plan`'s window; their order there, atom after atom,
/// is their position. longest_first (plan/longest_first.h) gives them to the same number of atoms by `cost` of their
/// input tokens in `train`. An atom may hold any number of samples, and keeps them by position; atoms left empty are
/// the last. Updates, epochs and cursor are those of `plan`. The digest changes with the costs and with the lengths of
/// the samples. Copies the lengths (4 bytes a sample); `train` is not used afterwards.
///
/// Throws InputError for a sample of 2^32 input tokens or more. Local.
std::unique_ptr<UpdatePlan> make_balanced_plan(std::unique_ptr<UpdatePlan> plan, const SampleSource& train,
                                               const SampleCost& cost);

}  // namespace samegrad

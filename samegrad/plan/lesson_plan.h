// The lesson's plan: virtual rank 0 always gets short samples and virtual rank 1 long ones, so that the numbers of
// supervised tokens differ in every window.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// Rule "lesson-two-pools-1". One generator random.Random(seed + 10) serves the whole run; each window draws, without
/// replacement, accumulation x batch_size_per_rank ids from `short_ids` and then as many from `long_ids`; they become,
/// in the order drawn, the microbatches of virtual ranks 0 and 1. All of it is one epoch.
///
/// Throws InputError where virtual_ranks is not 2, updates is 0, or a pool holds less than a window takes. Local.
std::unique_ptr<UpdatePlan> make_lesson_plan(const PlanConfig& plan, std::int64_t seed,
                                             std::vector<std::int64_t> short_ids, std::vector<std::int64_t> long_ids);

}  // namespace samegrad

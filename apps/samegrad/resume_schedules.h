// Which runs `samegrad verify-resume` makes.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/config/run_config.h"
#include "samegrad/plan/update_plan.h"
#include "samegrad/report/resume_proof.h"

namespace samegrad {

/// The length of each run: --updates; else 12, or 4 past the last stop, but never more than the plan has. Throws
/// InputError where --updates is more than the plan has, or a stop is not before the end. Local.
std::int64_t updates_to_compare(const CommandLine& line, const UpdatePlan& plan);

/// The runs, each `updates` long, for every backend of --backends: one process without a stop, which is the reference,
/// then what --stops and --worlds ask for (--worlds alone: no stops; --stops alone: 2, 3 and 1 processes in turn).
/// Without both: uninterrupted ones, then stops at a third and two thirds, after the first update, before the last, and
/// at the end of an epoch where there is one. Local.
std::vector<ResumeSchedule> choose_schedules(const CommandLine& line, const RunConfig& config, const UpdatePlan& plan,
                                             std::int64_t updates);

}  // namespace samegrad

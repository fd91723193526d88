// What a resume may change of its run, and what it must not: everything else that decides bits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/data_lock.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The part of check_resume that needs no data: so that what was prepared for the checkpoint's run is not replaced for
/// a run that is refused. Throws InputError. Local.
void check_resume_config(const Checkpoint& checkpoint, const RunConfig& config);

/// Holds a verified checkpoint against the run that is to go on from it. Returns what the user should know of allowed
/// changes, a line each: a total number of updates on which the schedule depends, other validation data.
///
/// Throws InputError naming key, the checkpoint's value and this run's for the first thing that may not change (config,
/// training data, plan), and for fewer updates in all than the checkpoint has. Throws CheckError naming file (and rank)
/// where the checkpoint's place in the plan, or a virtual rank's history, is not that of its update. Local.
std::vector<std::string> check_resume(const Checkpoint& checkpoint, const RunConfig& config, const UpdatePlan& plan,
                                      const DataLock& data_lock);

/// What a member of state.json that has another type than a training writes ends with. Throws CheckError. Local.
[[noreturn]] void refuse_state(const Checkpoint& checkpoint, const Json::exception& error);

/// A member of the checkpoint's state.json. Throws CheckError where it is missing. Local.
const Json& state_member(const Checkpoint& checkpoint, std::string_view name);

}  // namespace samegrad

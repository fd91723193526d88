// How many processes a person wanted of accelerate: `accelerate launch --num_processes N` starts N of them for GPUs
// only; on a machine without, it starts one, and no variable says N.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/comm/environment.h"

namespace samegrad {

/// The words with which the parent of this process was started. Empty where /proc does not tell. Local.
std::vector<std::string> parent_command();

/// The number of processes that a person wanted where accelerate started only this one; nothing where it is not so.
/// `parent_command`: accelerate's own words. Throws InputError where several were wanted but these do not tell how
/// many, or they were wanted on several machines. Local.
std::optional<int> processes_wanted_of_accelerate(const EnvironmentLookup& lookup,
                                                  std::span<const std::string> parent_command);

}  // namespace samegrad

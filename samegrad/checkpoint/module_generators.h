// The values that belong to one rank: states of its generators, and what the program adds. They are rank-<r>.json.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/module_checkpoint.h"

namespace samegrad::checkpoint {

/// An array of their names. Local.
Json generator_names(const std::vector<NamedGenerator>& generators);

/// {"generators": {name: state in hexadecimal}, "extra": ...}; null where this rank has neither. Local.
Json rank_values(const std::vector<NamedGenerator>& generators, const Json& rank_extra);

/// What puts the generators of rank `rank` of `ranks` back; its extra value goes into `rank_extra` at once. Throws
/// InputError where the checkpoint has values of each rank and another number of ranks; CheckError where it has other
/// generators than those given, or a state that does not fit. No generator has been changed then. Local.
std::function<void()> prepare_rank_values(const Checkpoint& checkpoint, int rank, int ranks,
                                          const std::vector<NamedGenerator>& generators, Json& rank_extra);

}  // namespace samegrad::checkpoint

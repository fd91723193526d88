// The process that started the ranks of this host, where their launcher gives its job no name.
#pragma once

#include <string>

namespace samegrad {

/// Pid and start time of the nearest ancestor that was not itself started with `rank_variable` in its environment: of
/// the launcher, also where a shell stands between it and the rank. The same for all ranks that one process started.
/// Local.
std::string launcher_process(const std::string& rank_variable);

}  // namespace samegrad

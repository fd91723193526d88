// How often the system killed a process of this control group because its memory ran out.
#pragma once

#include <cstdint>

namespace samegrad {

/// oom_kill of the group's memory.events (memory.oom_control with cgroups of version 1), which only grows; 0 where it
/// cannot be read. Local.
std::int64_t memory_kills_so_far();

}  // namespace samegrad

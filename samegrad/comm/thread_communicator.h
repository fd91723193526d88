// Ranks that are threads of one process, for tests of code that talks to other ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// Communicators of ranks 0..world_size-1; each is for one thread. A rank that leaves, or whose communicator is
/// destroyed, ends the waits of the others as a process would. `slot_bytes` (a multiple of 64, at least 64 a rank)
/// bounds a chunk. Local.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int world_size, std::size_t slot_bytes = 65'536);

}  // namespace samegrad

// The proof that ranks really meet: `samegrad env --dual`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad {

struct DualExchange {
  std::vector<std::int64_t> pids;  ///< by rank
  std::int64_t elements = 0;       ///< of the exchanged tensor, float32
};

/// Every rank sends every other a tensor that only the sender can have made, and checks what it receives; then all
/// exchange pids. Where a value or a pid is not as it must be on one rank (two ranks in one process), all throw the
/// same CheckError; else errors as Communicator. Collective.
DualExchange dual_exchange_check(Communicator& comm, const CallLabel& label);

}  // namespace samegrad

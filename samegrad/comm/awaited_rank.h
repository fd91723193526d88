// Whom a rank waits for, for those who ask while it waits.
#pragma once

#include <optional>
#include <string>

#include "samegrad/comm/communicator.h"

namespace samegrad {

struct AwaitedRank {
  int rank = 0;
  std::string message;  ///< it, the call, and where it is instead; without "[comm]"
};

/// Of the ranks that have not come to the collective call in which this one waits, as their records have it: the first
/// that is stopped, else the first; where all have come, the first that is stopped in it. Nothing where this rank waits
/// for none, or where it cannot be known, as of ranks of another host. Ranks that ask at one time do not name each
/// other in a circle. For any thread. Local.
std::optional<AwaitedRank> awaited_rank(const Communicator& comm);

}  // namespace samegrad

// Work for which rank 0 alone takes long, while the others have nothing to do but wait.
#pragma once

#include <functional>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// Every rank runs `work`, and returns when rank 0 has ended its own, however long that takes: rank 0 gives signs of
/// life while its thread uses the processor, and `label.timeout` bounds the time without one. A rank whose `work`
/// throws throws the same, then. `work` makes no collective call. Throws PeerError where a rank has died or is stopped.
/// Collective.
void leader_works(Communicator& comm, const CallLabel& label, const std::function<void()>& work);

}  // namespace samegrad

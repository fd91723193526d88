// PyTorch DDP's own form of an exchange: the mean over ranks of what their .grad hold. With it the lesson writes its
// loss as W * S_r / N (objective/scale.h, kMean). Bits depend on the number of ranks; training uses Window instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// gradient = mean over ranks, added in rank order in float, then divided by their number. Collective.
void mean_over_ranks(Communicator& comm, std::span<float> gradient, const CallLabel& label);

}  // namespace samegrad

// What saving and loading of a program's own module share.
#pragma once

#include "samegrad/checkpoint/module_checkpoint.h"

namespace samegrad::checkpoint {

/// state.json's "content": not a checkpoint of `samegrad train`.
inline constexpr const char* kContent = "module";

/// A scheduler's count of steps, to read and to set.
unsigned& steps_of(torch::optim::LRScheduler& scheduler);

}  // namespace samegrad::checkpoint

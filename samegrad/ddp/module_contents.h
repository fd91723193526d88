// What of a torch::nn::Module data-parallel training deals with.
#pragma once

#include <torch/nn/module.h>

#include "samegrad/ddp/data_parallel.h"

namespace samegrad {

/// Parameters in order of registration, also frozen ones, and defined buffers; a shared tensor once. Local.
ModelTensors module_contents(const torch::nn::Module& module);

}  // namespace samegrad

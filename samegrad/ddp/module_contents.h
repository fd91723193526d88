// What of a torch::nn::Module data-parallel training deals with.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

#include "samegrad/ddp/model_form.h"

namespace samegrad {

/// Parameters in order of registration, also frozen ones, and defined buffers; a shared tensor once. Local.
ModelTensors module_contents(const torch::nn::Module& module);

/// Another number after a change of the parameters that module_contents() gives, of their dtype, shape, strides, device
/// or requires_grad (but for chance, 1 in 2^64). Some nanoseconds a parameter. Local.
std::uint64_t parameters_mark(const torch::nn::Module& module);

}  // namespace samegrad

// One atom by itself: what a window adds up, before it is added.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/gradient_slots.h"

namespace samegrad {

/// Forward and backward of `loss` at `parameters` (float32) into `gradient`, which is zeroed first: for an atom's sum,
/// the bits that Window::backward gives for it. An undefined loss: a gradient of +0. The parameters' .grad is unset
/// afterwards. Local.
void atom_gradient(const FlatParameters& parameters, const std::function<at::Tensor()>& loss, GradientBuffer& gradient);

}  // namespace samegrad

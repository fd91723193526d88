// One atom by itself: what a window adds up, before it is added.
#pragma once

#include <cstdint>
#include <optional>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/model/model.h"

namespace samegrad {

/// Forward and backward of `batch` at the model's parameters (float32), dropout keyed by `key` (none: off), into
/// `gradient`, which is zeroed first: the bits that Window::backward gives for this atom. Returns S_a; 0, and a
/// gradient of +0, where no token has a weight above 0. `parameters` are the model's; their .grad is unset afterwards.
/// Local.
double atom_gradient(const Model& model, const FlatParameters& parameters, const PackedBatch& batch,
                     const std::optional<DropoutKey>& key, GradientBuffer& gradient);

}  // namespace samegrad

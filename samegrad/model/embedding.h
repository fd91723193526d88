// From token ids to the rows that the layers work on.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/data/packed_batch.h"

namespace samegrad {

/// token[id] + position[offset within the sample] for every packed token: [tokens, width]. Requires no sample longer
/// than `position` has rows. Local.
at::Tensor embed(const PackedBatch& batch, const at::Tensor& token, const at::Tensor& position);

}  // namespace samegrad

// From token ids to the rows that the layers work on.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/data/packed_batch.h"

namespace samegrad {

/// token[id] + position[offset within the sample] for every packed token: [tokens, width]. Requires ids of rows of
/// `token`, and no sample longer than `position` has rows; a row's gradient is added up in the order of the tokens.
/// Local.
at::Tensor embed(const PackedBatch& batch, const at::Tensor& token, const at::Tensor& position);

}  // namespace samegrad

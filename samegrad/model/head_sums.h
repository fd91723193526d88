// The output layer and the loss as one operation.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/data/packed_batch.h"
#include "samegrad/model/layer_parameters.h"
#include "samegrad/model/model.h"

namespace samegrad {

/// Of logits = linear(x, head): the sum over the supervised tokens of their cross-entropy times weight, and, `with_z`,
/// that of logsumexp(logits)^2; each token's in double, added up in their order: float64 scalars. x: [tokens, width].
/// Other tokens count nothing, whatever their logits. Where all logits have more than `most_logits` elements, they are
/// made for some tokens at a time, and once more in backward. Requires targets below the number of choices. Local.
Model::LossAndZ head_sums(const at::Tensor& x, const LinearParameters& head, const PackedBatch& batch, bool with_z,
                          std::int64_t most_logits = std::int64_t{1} << 22);

/// The loss of head_sums() for logits [tokens, choices] that are there already: the same bits, without gradient. Local.
double loss_of_logits(const at::Tensor& logits, const PackedBatch& batch);

}  // namespace samegrad

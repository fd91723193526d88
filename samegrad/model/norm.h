// Layer normalisation, with the residual before it.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/model/layer_parameters.h"

namespace samegrad {

/// Layer normalisation of x [tokens, width] over the width with PyTorch's epsilon, 1e-5. Local.
at::Tensor normalise(const at::Tensor& x, const NormParameters& parameters);

/// normalise(x + added) in one pass. Local.
at::Tensor normalise_sum(const at::Tensor& x, const at::Tensor& added, const NormParameters& parameters);

/// x + added, and beside it normalise() of that, in one pass. Local.
struct SumAndNormal {
  at::Tensor sum;
  at::Tensor normal;
};
SumAndNormal sum_and_normalise(const at::Tensor& x, const at::Tensor& added, const NormParameters& parameters);

}  // namespace samegrad

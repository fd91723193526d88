// Linear layers on samegrad's own matrix product (kernels/multiply.h): a row's values do not depend on its neighbours.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/model/layer_parameters.h"

namespace samegrad {

/// a [m, k] times b [k, n], plus `bias` [n] to each row where it is defined; a and b lie as they like. float32 or
/// float64, all of one type. No gradient. Local.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// The sum of the rows of `rows` [m, n]: [n]. No gradient. Local.
at::Tensor sum_of_rows(const at::Tensor& rows);

/// x times weight', plus bias. x: [tokens, in]; returns [tokens, out]. Local.
at::Tensor linear(const at::Tensor& x, const LinearParameters& parameters);

}  // namespace samegrad

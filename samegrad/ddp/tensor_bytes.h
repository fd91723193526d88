// The bytes of tensors that ranks exchange whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// The values of `tensors`, one after another, each in row-major order. CPU tensors of any dtype. Local.
std::vector<std::byte> bytes_of_tensors(const std::vector<NamedTensor>& tensors);

/// The inverse; a tensor whose bytes are the same already is not written to, so that autograd does not take it for
/// changed. Local.
void set_bytes_of_tensors(const std::vector<NamedTensor>& tensors, const std::vector<std::byte>& bytes);

/// XXH3-128 of one tensor's values in row-major order. Local.
std::string tensor_hash(const at::Tensor& tensor);

}  // namespace samegrad

// A tensor of a model and the name by which messages and files know it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace samegrad {

struct NamedTensor {
  std::string name;  ///< as named_parameters() has it: "encoder.layers.0.linear1.weight"
  at::Tensor tensor;
};

}  // namespace samegrad

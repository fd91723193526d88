#include "samegrad/train/atom_gradient.h"

#include <algorithm>
#include <vector>

namespace samegrad {

void atom_gradient(const FlatParameters& parameters, const std::function<at::Tensor()>& loss,
                   GradientBuffer& gradient) {
  std::ranges::fill(gradient.values(), 0.0F);
  const std::vector<at::Tensor>& tensors = parameters.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient.tensors[i];
  if (const at::Tensor sum = loss(); sum.defined()) sum.backward();
  for (const at::Tensor& tensor : tensors) tensor.mutable_grad().reset();
}

}  // namespace samegrad

#include "samegrad/train/atom_gradient.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace samegrad {

double atom_gradient(const Model& model, const FlatParameters& parameters, const PackedBatch& batch,
                     const std::optional<DropoutKey>& key, GradientBuffer& gradient) {
  std::ranges::fill(gradient.values(), 0.0F);
  if (!batch.has_loss()) return 0.0;
  const std::vector<at::Tensor>& tensors = parameters.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mutable_grad() = gradient.tensors[i];
  const at::Tensor loss = model.loss_sum(batch, key);
  loss.backward();
  for (const at::Tensor& tensor : tensors) tensor.mutable_grad().reset();
  return loss.item<double>();
}

}  // namespace samegrad

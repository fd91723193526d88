// The form of a model's tensors: what ranks must have in common for their exchanges to fit together, and what of it has
// changed since they agreed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// A model as data-parallel training sees it.
struct ModelTensors {
  std::vector<NamedTensor> parameters;  ///< also frozen ones
  std::vector<NamedTensor> buffers;
};

/// A tensor as it was when this was made.
struct TensorForm {
  std::string name;
  std::string form;  ///< "Float [5, 37], trained"
  bool trained = false;
  const void* identity = nullptr;  ///< of a parameter
};

/// Strides of a trained one belong to its form where they are not those of rows: gradients are exchanged in the order
/// in which they lie in memory. Local.
std::vector<TensorForm> forms_of_parameters(const std::vector<NamedTensor>& parameters);
/// Without identity: a buffer may be replaced by another of its form. Local.
std::vector<TensorForm> forms_of_buffers(const std::vector<NamedTensor>& buffers);

/// "" or what differs, the same text on ranks that made the same changes to the same forms, under 400 characters:
/// "b.weight is Float [2, 3], not trained (it was Float [2, 3], trained)". Local.
std::string changes_of_form(const std::vector<TensorForm>& before, const std::vector<TensorForm>& now);

/// Goes on from `mark` with everything of a parameter that changes_of_form looks at but its name, in nanoseconds.
std::uint64_t marked_parameter(std::uint64_t mark, const at::Tensor& parameter);
/// The same for all of a list. Local.
std::uint64_t mark_of_parameters(const std::vector<NamedTensor>& parameters);
std::uint64_t mark_of_buffers(const std::vector<NamedTensor>& buffers);

}  // namespace samegrad

#include "samegrad/ddp/flat_parameters.h"

namespace samegrad {
namespace {

ParameterSet set_of(const FlatLayout& layout, const std::vector<at::Tensor>& tensors) {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].requires_grad_(true);
    named.push_back({layout.places()[i].name, tensors[i]});
  }
  return ParameterSet(std::move(named));
}

}  // namespace

FlatParameters::FlatParameters(const std::vector<NamedShape>& shapes, ElementType type)
    : layout_(shapes, type),
      values_(type, layout_.flat_elements()),
      tensors_(tensors_over(layout_, values_)),
      set_(set_of(layout_, tensors_)) {}

}  // namespace samegrad

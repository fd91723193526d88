// A model's parameters in one aligned block of memory: each is a leaf tensor over its part of the block.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "samegrad/ddp/flat_layout.h"
#include "samegrad/ddp/parameter_set.h"

namespace samegrad {

/// The values of a model's parameters, all of one type.
class FlatParameters {
 public:
  explicit FlatParameters(const std::vector<NamedShape>& shapes, ElementType type = ElementType::kFloat32);

  const FlatLayout& layout() const { return layout_; }
  /// Requires the parameters' own type.
  template <typename Element = float>
  std::span<Element> values() {
    return values_.span<Element>();
  }
  template <typename Element = float>
  std::span<const Element> values() const {
    return values_.span<Element>();
  }
  /// Leaves that require a gradient, in layout order.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  /// The same tensors as a window takes them: one group, with layout()'s places.
  const ParameterSet& set() const { return set_; }

 private:
  FlatLayout layout_;
  AlignedBlock values_;
  std::vector<at::Tensor> tensors_;
  ParameterSet set_;
};

}  // namespace samegrad

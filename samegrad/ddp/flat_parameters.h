// Parameters in one aligned block of memory: each parameter is a leaf tensor over its part of the block, so that what
// goes over a whole model (optimizer, norm, hash, exchange) is one pass over memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/base/element_type.h"

namespace samegrad {

/// Name and shape of one parameter.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Where one parameter lies in the flat block, in elements.
struct ParameterPlace {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
};

/// Flat layout: parameters of one type in the order given, each at a multiple of 64 bytes (facts: bits of matrix
/// products can depend on alignment below that); the gaps are zero and take part in nothing that is reported. Offsets
/// do not depend on the type.
class FlatLayout {
 public:
  explicit FlatLayout(const std::vector<NamedShape>& shapes, ElementType type = ElementType::kFloat32);

  ElementType type() const { return type_; }
  const std::vector<ParameterPlace>& places() const { return places_; }
  /// Elements of the block, gaps included.
  std::int64_t flat_elements() const { return flat_elements_; }
  /// Elements of the parameters, gaps left out.
  std::int64_t parameter_elements() const { return parameter_elements_; }

 private:
  ElementType type_;
  std::vector<ParameterPlace> places_;
  std::int64_t flat_elements_ = 0;
  std::int64_t parameter_elements_ = 0;
};

/// A block of numbers of one type at a 64-byte boundary, +0 at first.
class AlignedBlock {
 public:
  AlignedBlock(ElementType type, std::int64_t elements);

  ElementType type() const { return type_; }
  /// Requires the block's own type: float32, as everything of a training is, unless another is asked for.
  template <typename Element = float>
  std::span<Element> span() {
    check_is(kElementTypeOf<Element>);
    return {static_cast<Element*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  template <typename Element = float>
  std::span<const Element> span() const {
    check_is(kElementTypeOf<Element>);
    return {static_cast<const Element*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  std::span<std::byte> bytes() {
    return {static_cast<std::byte*>(data_.get()), static_cast<std::size_t>(elements_ * element_bytes(type_))};
  }

 private:
  struct Free {
    void operator()(void* pointer) const;
  };
  void check_is(ElementType asked) const { SAMEGRAD_CHECK_OP(element_bytes(asked), ==, element_bytes(type_)); }

  ElementType type_;
  std::unique_ptr<void, Free> data_;
  std::int64_t elements_;
};

/// One tensor per parameter over `block` (of its type, no copy). `block` must outlive them. Local.
std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedBlock& block);

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

 private:
  FlatLayout layout_;
  AlignedBlock values_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace samegrad

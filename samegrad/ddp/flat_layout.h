// Where the numbers of many tensors lie in one aligned block of memory, so that what goes over all of them (optimizer,
// norm, hash, exchange) is one pass over memory.
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
#include "samegrad/comm/gradient_memory.h"

namespace samegrad {

/// Name and shape of one parameter.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides = {};  ///< of tensors over its place, dense; none: as the shape has them
};

/// Where one parameter lies in the flat block, in elements.
struct ParameterPlace {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
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
  /// In `memory` where it is given and has room.
  AlignedBlock(ElementType type, std::int64_t elements, GradientMemory* memory = nullptr);
  AlignedBlock(AlignedBlock&&) = default;
  AlignedBlock& operator=(AlignedBlock&&) = default;

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
  friend std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedBlock& block);
  void check_is(ElementType asked) const { SAMEGRAD_CHECK_OP(element_bytes(asked), ==, element_bytes(type_)); }

  ElementType type_;
  std::shared_ptr<void> data_;  // with the tensors over it
  std::int64_t elements_;
};

/// One tensor per parameter over `block` (of its type, no copy); each keeps the memory alive. Local.
std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedBlock& block);

}  // namespace samegrad

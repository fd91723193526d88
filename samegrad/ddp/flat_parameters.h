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

/// Flat layout: parameters in the order given, each at a multiple of 64 bytes (facts: bits of matrix products can
/// depend on alignment below that); the gaps are zero and take part in nothing that is reported.
class FlatLayout {
 public:
  explicit FlatLayout(const std::vector<NamedShape>& shapes);

  const std::vector<ParameterPlace>& places() const { return places_; }
  /// Elements of the block, gaps included.
  std::int64_t flat_elements() const { return flat_elements_; }
  /// Elements of the parameters, gaps left out.
  std::int64_t parameter_elements() const { return parameter_elements_; }

 private:
  std::vector<ParameterPlace> places_;
  std::int64_t flat_elements_ = 0;
  std::int64_t parameter_elements_ = 0;
};

/// A zeroed block of floats at a 64-byte boundary.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t elements);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::span<float> span() { return {data_.get(), static_cast<std::size_t>(elements_)}; }
  std::span<const float> span() const { return {data_.get(), static_cast<std::size_t>(elements_)}; }

 private:
  struct Free {
    void operator()(float* pointer) const;
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t elements_;
};

/// One tensor per parameter over `block` (float32, no copy). `block` must outlive them. Local.
std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedFloats& block);

/// The values of a model's parameters. Float32.
class FlatParameters {
 public:
  explicit FlatParameters(const std::vector<NamedShape>& shapes);

  const FlatLayout& layout() const { return layout_; }
  std::span<float> values() { return values_.span(); }
  std::span<const float> values() const { return values_.span(); }
  /// Leaves that require a gradient, in layout order.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  FlatLayout layout_;
  AlignedFloats values_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace samegrad

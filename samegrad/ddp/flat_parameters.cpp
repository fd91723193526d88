#include "samegrad/ddp/flat_parameters.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace samegrad {
namespace {

constexpr std::int64_t kAlignmentBytes = 64;
constexpr std::int64_t kAlignmentElements = kAlignmentBytes / static_cast<std::int64_t>(sizeof(float));

std::int64_t rounded_up(std::int64_t elements) {
  return (elements + kAlignmentElements - 1) / kAlignmentElements * kAlignmentElements;
}

}  // namespace

FlatLayout::FlatLayout(const std::vector<NamedShape>& shapes) {
  places_.reserve(shapes.size());
  for (const NamedShape& shape : shapes) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape.shape) elements *= size;
    places_.push_back({shape.name, shape.shape, flat_elements_, elements});
    flat_elements_ += rounded_up(elements);
    parameter_elements_ += elements;
  }
}

AlignedFloats::AlignedFloats(std::int64_t elements) : elements_(elements) {
  const auto bytes = static_cast<std::size_t>(std::max(rounded_up(elements), kAlignmentElements)) * sizeof(float);
  data_.reset(static_cast<float*>(std::aligned_alloc(kAlignmentBytes, bytes)));
  if (!data_) throw std::bad_alloc();
  std::fill_n(data_.get(), bytes / sizeof(float), 0.0F);
}

void AlignedFloats::Free::operator()(float* pointer) const { std::free(pointer); }

std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedFloats& block) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(layout.places().size());
  for (const ParameterPlace& place : layout.places()) {
    tensors.push_back(at::from_blob(block.data() + place.offset, place.shape, at::TensorOptions().dtype(at::kFloat)));
  }
  return tensors;
}

FlatParameters::FlatParameters(const std::vector<NamedShape>& shapes)
    : layout_(shapes), values_(layout_.flat_elements()), tensors_(tensors_over(layout_, values_)) {
  for (at::Tensor& tensor : tensors_) tensor.requires_grad_(true);
}

}  // namespace samegrad

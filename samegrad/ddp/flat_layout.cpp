#include "samegrad/ddp/flat_layout.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "samegrad/base/padded_elements.h"

namespace samegrad {
namespace {

constexpr std::int64_t kAlignmentBytes = 64;

}  // namespace

FlatLayout::FlatLayout(const std::vector<NamedShape>& shapes, ElementType type) : type_(type) {
  places_.reserve(shapes.size());
  for (const NamedShape& shape : shapes) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape.shape) elements *= size;
    places_.push_back({shape.name, shape.shape, shape.strides, flat_elements_, elements});
    flat_elements_ += padded_elements(elements);
    parameter_elements_ += elements;
  }
}

AlignedBlock::AlignedBlock(ElementType type, std::int64_t elements, GradientMemory* memory)
    : type_(type), elements_(elements) {
  const std::int64_t least = padded_elements(1);
  const auto bytes = static_cast<std::size_t>(std::max(padded_elements(elements), least) * element_bytes(type));
  if (memory != nullptr) data_ = memory->allocate(bytes);
  if (!data_) data_.reset(std::aligned_alloc(kAlignmentBytes, bytes), std::free);
  if (!data_) throw std::bad_alloc();
  std::memset(data_.get(), 0, bytes);
}

std::vector<at::Tensor> tensors_over(const FlatLayout& layout, AlignedBlock& block) {
  const auto options =
      at::TensorOptions().dtype(block.type() == ElementType::kFloat64 ? at::ScalarType::Double : at::ScalarType::Float);
  std::vector<at::Tensor> tensors;
  tensors.reserve(layout.places().size());
  for (const ParameterPlace& place : layout.places()) {
    std::byte* const data = block.bytes().data() + place.offset * element_bytes(block.type());
    const auto keep = [memory = block.data_](void*) {};
    tensors.push_back(place.strides.empty() ? at::from_blob(data, place.shape, keep, options)
                                            : at::from_blob(data, place.shape, place.strides, keep, options));
  }
  return tensors;
}

}  // namespace samegrad

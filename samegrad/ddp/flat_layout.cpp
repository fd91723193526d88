#include "samegrad/ddp/flat_layout.h"

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "samegrad/base/padded_elements.h"

namespace samegrad {
namespace {

constexpr std::size_t kAlignmentBytes = 64;
// Blocks of several of these ask for huge pages, where the system gives them on request: a step over 25 million
// parameters otherwise walks the tables of 100,000 pages.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  const bool huge = bytes >= 4 * kHugePageBytes;
  const std::size_t alignment = huge ? kHugePageBytes : kAlignmentBytes;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: small pages do, too
  return {memory, std::free};
}

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
  if (!data_) data_ = aligned_memory(bytes);
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

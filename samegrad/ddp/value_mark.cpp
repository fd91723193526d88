#include "samegrad/ddp/value_mark.h"

#include <algorithm>
#include <cstring>

namespace samegrad {
namespace {

ValueMark mark_of(const at::Tensor& tensor) {
  ValueMark mark;
  mark.version = static_cast<std::uint32_t>(tensor._version());
  if (!tensor.is_cpu() || !tensor.is_non_overlapping_and_dense() || tensor.numel() == 0) return mark;
  const std::int64_t last = tensor.numel() - 1;
  const std::size_t size = tensor.element_size();
  const auto* const bytes = static_cast<const char*>(tensor.const_data_ptr());
  for (std::size_t i = 0; i < mark.elements.size(); ++i) {
    const auto element = static_cast<std::size_t>(last * static_cast<std::int64_t>(i) / 3);
    std::memcpy(&mark.elements[i], bytes + element * size, std::min(size, sizeof mark.elements[i]));
  }
  return mark;
}

}  // namespace

std::vector<ValueMark> marks_of(const std::vector<NamedTensor>& tensors) {
  std::vector<ValueMark> marks;
  marks.reserve(tensors.size());
  for (const NamedTensor& named : tensors) marks.push_back(mark_of(named.tensor));
  return marks;
}

std::optional<std::size_t> first_changed(const std::vector<NamedTensor>& tensors,
                                         const std::vector<ValueMark>& before) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!(mark_of(tensors[i].tensor) == before[i])) return i;
  }
  return std::nullopt;
}

}  // namespace samegrad

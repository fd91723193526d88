// Whether a parameter was changed, at the price of four elements: for a mistake that would let models drift apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// Autograd's counter of changes in place, and four elements, since libtorch's optimizers change `tensor.data()`, which
/// is not counted. A change that leaves all of them is not seen.
struct ValueMark {
  std::uint32_t version = 0;
  std::array<std::uint64_t, 4> elements{};

  bool operator==(const ValueMark&) const = default;
};

/// Of tensors on the CPU; of others, and of ones with gaps, the counter alone. Local.
std::vector<ValueMark> marks_of(const std::vector<NamedTensor>& tensors);

/// The first of `tensors` that is not as it was when `before` was taken. Local.
std::optional<std::size_t> first_changed(const std::vector<NamedTensor>& tensors, const std::vector<ValueMark>& before);

}  // namespace samegrad

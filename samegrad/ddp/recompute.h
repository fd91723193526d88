// Gradient checkpointing, which libtorch lacks: a part of a model keeps its inputs only, and runs once more in
// backward. Memory for activations against one more forward.
//
//   x = recompute([&](const at::Tensor& in) { return block->forward(in); }, x);
//
// The gradients' terms are those of the plain call, added up in each part first: the same bits, unless one tensor or
// parameter has more than two terms that come from several parts. It works inside a window's atoms, with
// unused-parameter detection and with broadcast buffers; a parameter's hook fires once a part that uses it.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

namespace samegrad {

/// A part of a model: tensors in, tensors out.
using RecomputedPart = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// What recompute_all() does beside calling the part.
struct RecomputeOptions {
  /// Buffers that the part changes (BatchNorm's statistics: `block->buffers()`). In backward they have the values of
  /// forward while the part runs again, and then get back those they had: forward's change counts once.
  std::vector<at::Tensor> buffers = {};
};

/// part(inputs), without keeping what it computes. `part` is kept until backward and called again there, with default
/// generators and grad mode as they were in forward; what it refers to must live until then. Inputs may be of any type;
/// those that need gradients get them, and so do parameters that `part` captures, through their .grad. With gradients
/// off it is a plain call; with them on, every floating output counts as one that needs a gradient.
///
/// Throws InputError, here or from backward(): an undefined output; other outputs in backward than in forward; a part
/// that changes an input in place; one that captures a tensor computed outside (give it as an input); autocast;
/// backward(create_graph) or torch::autograd::grad(), which cannot reach captured parameters. Local.
std::vector<at::Tensor> recompute_all(RecomputedPart part, const std::vector<at::Tensor>& inputs,
                                      const RecomputeOptions& options = {});

/// The same for a part that takes `inputs` one by one and returns one tensor, or a vector of them. Local.
template <typename Part, std::same_as<at::Tensor>... Inputs>
auto recompute(Part part, const Inputs&... inputs) {
  const auto call = [part = std::move(part)]<std::size_t... kIndex>(const std::vector<at::Tensor>& given,
                                                                    std::index_sequence<kIndex...>) {
    return part(given[kIndex]...);
  };
  using Indices = std::index_sequence_for<Inputs...>;
  if constexpr (std::convertible_to<std::invoke_result_t<Part, const Inputs&...>, at::Tensor>) {
    return recompute_all([call](const auto& given) { return std::vector<at::Tensor>{call(given, Indices())}; },
                         {inputs...})
        .front();
  } else {
    return recompute_all([call](const auto& given) { return call(given, Indices()); }, {inputs...});
  }
}

}  // namespace samegrad

#include "samegrad/model/embedding.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <numeric>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/model/first_order.h"

namespace samegrad {
namespace {

std::vector<std::int64_t> positions_within_samples(const PackedBatch& batch, std::int64_t most) {
  std::vector<std::int64_t> positions(batch.inputs.size());
  for (std::size_t s = 0; s + 1 < batch.offsets.size(); ++s) {
    SAMEGRAD_CHECK_OP(batch.offsets[s + 1] - batch.offsets[s], <=, most);
    std::iota(positions.begin() + batch.offsets[s], positions.begin() + batch.offsets[s + 1], std::int64_t{0});
  }
  return positions;
}

/// to[index[t]] += rows[t], in the order of t.
template <typename Element>
void add_rows(const Element* rows, const at::Tensor& index, std::int64_t width, Element* to) {
  const auto* const places = index.const_data_ptr<std::int64_t>();
  for (std::int64_t t = 0; t < index.numel(); ++t) {
    Element* const row = to + places[t] * width;
    for (std::int64_t j = 0; j < width; ++j) row[j] += rows[t * width + j];
  }
}

/// token[ids[t]] + position[positions[t]].
struct Embed : torch::autograd::Function<Embed> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& token,
                            const at::Tensor& position, const at::Tensor& ids, const at::Tensor& positions) {
    context->save_for_backward({token, position, ids, positions});
    const std::int64_t width = token.size(1);
    at::Tensor rows = at::empty({ids.numel(), width}, token.options());
    AT_DISPATCH_FLOATING_TYPES(token.scalar_type(), "embed", [&] {
      auto* to = rows.mutable_data_ptr<scalar_t>();
      for (std::int64_t t = 0; t < ids.numel(); ++t, to += width) {
        const auto* const of_token = token.const_data_ptr<scalar_t>() + ids.const_data_ptr<std::int64_t>()[t] * width;
        const auto* const of_place =
            position.const_data_ptr<scalar_t>() + positions.const_data_ptr<std::int64_t>()[t] * width;
        for (std::int64_t j = 0; j < width; ++j) to[j] = of_token[j] + of_place[j];
      }
    });
    return rows;
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    refuse_second_gradient("the embedding");
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor of_rows = output_gradients[0].contiguous();
    std::vector<at::Tensor> gradients(4);
    for (const std::size_t table : {0U, 1U}) {
      if (!context->needs_input_grad(table)) continue;
      gradients[table] = at::zeros_like(saved[table]);
      AT_DISPATCH_FLOATING_TYPES(of_rows.scalar_type(), "embed_backward", [&] {
        add_rows(of_rows.const_data_ptr<scalar_t>(), saved[table + 2], of_rows.size(1),
                 gradients[table].mutable_data_ptr<scalar_t>());
      });
    }
    return gradients;
  }
};

}  // namespace

at::Tensor embed(const PackedBatch& batch, const at::Tensor& token, const at::Tensor& position) {
  for (const std::int64_t id : batch.inputs) {
    SAMEGRAD_CHECK_OP(id, >=, 0);
    SAMEGRAD_CHECK_OP(id, <, token.size(0));
  }
  return Embed::apply(token, position, at::tensor(batch.inputs, at::kLong),
                      at::tensor(positions_within_samples(batch, position.size(0)), at::kLong));
}

}  // namespace samegrad

#include "samegrad/model/feed_forward.h"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <vector>

#include "samegrad/kernels/elementwise.h"
#include "samegrad/kernels/gelu.h"
#include "samegrad/model/first_order.h"
#include "samegrad/model/linear.h"

namespace samegrad {
namespace {

/// gelu(x) times mask; x itself becomes gelu'(x) times mask where `with_slopes`.
at::Tensor gelu_values(const at::Tensor& x, const std::optional<at::Tensor>& mask, bool with_slopes) {
  at::Tensor values = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gelu", [&] {
    auto* const at = x.mutable_data_ptr<scalar_t>();
    gelu(at, mask ? mask->const_data_ptr<scalar_t>() : nullptr, x.numel(), values.mutable_data_ptr<scalar_t>(),
         with_slopes ? at : nullptr);
  });
  return values;
}

struct FeedForward : torch::autograd::Function<FeedForward> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight1,
                            const at::Tensor& bias1, const at::Tensor& weight2, const at::Tensor& bias2,
                            const std::optional<at::Tensor>& mask, bool with_gradient) {
    const at::Tensor slopes = product(x, weight1.t(), bias1);
    const at::Tensor inner = gelu_values(slopes, mask, with_gradient);
    if (with_gradient) context->save_for_backward({x, weight1, weight2, inner, slopes});
    return product(inner, weight2.t(), bias2);
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    refuse_second_gradient("the feed-forward block");
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor& slopes = saved[4];
    const at::Tensor gradient = output_gradients[0].contiguous();
    const at::Tensor of_inner = product(gradient, saved[2]);
    AT_DISPATCH_FLOATING_TYPES(slopes.scalar_type(), "gelu_backward", [&] {
      multiply_by(of_inner.mutable_data_ptr<scalar_t>(), slopes.const_data_ptr<scalar_t>(), slopes.numel());
    });
    return {context->needs_input_grad(0) ? product(of_inner, saved[1]) : at::Tensor(),
            product(of_inner.t(), saved[0]),
            sum_of_rows(of_inner),
            product(gradient.t(), saved[3]),
            sum_of_rows(gradient),
            {},
            {}};
  }
};

}  // namespace

at::Tensor feed_forward(const at::Tensor& x, const LayerParameters& parameters, const Dropout& dropout,
                        std::int64_t layer) {
  const LinearParameters& first = parameters.linear1;
  const LinearParameters& second = parameters.linear2;
  const std::optional<at::Tensor> mask =
      dropout.mask({x.size(0), first.weight.size(0)}, x.scalar_type(), {layer, DropoutPlace::kInnerFeedForward});
  const at::Tensor outer =
      FeedForward::apply(x, first.weight, first.bias, second.weight, second.bias, mask, at::GradMode::is_enabled());
  return dropout(outer, {layer, DropoutPlace::kFeedForward});
}

}  // namespace samegrad

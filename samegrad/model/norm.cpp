#include "samegrad/model/norm.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <vector>

#include "samegrad/kernels/layer_norm.h"
#include "samegrad/model/first_order.h"

namespace samegrad {
namespace {

template <typename Element>
NormalRows<Element> normal_rows(const at::Tensor& normal, const at::Tensor& scale) {
  return {normal.size(0), normal.size(1), normal.mutable_data_ptr<Element>(), scale.mutable_data_ptr<Element>()};
}

/// y, and the sum as a second output where it is asked for.
struct Normalise : torch::autograd::Function<Normalise> {
  static std::vector<at::Tensor> forward(torch::autograd::AutogradContext* context, const at::Tensor& given,
                                         const std::optional<at::Tensor>& given_added, const at::Tensor& weight,
                                         const at::Tensor& bias, bool with_sum) {
    const at::Tensor x = given.contiguous();
    const at::Tensor added = given_added ? given_added->contiguous() : at::Tensor();
    const at::Tensor normal = at::empty_like(x);
    const at::Tensor scale = at::empty({x.size(0)}, x.options());
    std::vector<at::Tensor> outputs = {at::empty_like(x)};
    if (with_sum) outputs.push_back(at::empty_like(x));
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layer_norm", [&] {
      layer_norm(x.const_data_ptr<scalar_t>(), added.defined() ? added.const_data_ptr<scalar_t>() : nullptr,
                 weight.const_data_ptr<scalar_t>(), bias.const_data_ptr<scalar_t>(),
                 normal_rows<scalar_t>(normal, scale), with_sum ? outputs[1].mutable_data_ptr<scalar_t>() : nullptr,
                 outputs[0].mutable_data_ptr<scalar_t>());
    });
    context->save_for_backward({normal, scale, weight});
    context->set_materialize_grads(false);
    context->saved_data["added"] = added.defined();
    return outputs;
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    refuse_second_gradient("layer normalisation");
    const bool added = context->saved_data["added"].toBool();
    const at::Tensor of_sum =
        output_gradients.size() > 1 && output_gradients[1].defined() ? output_gradients[1].contiguous() : at::Tensor();
    if (!output_gradients[0].defined()) return {of_sum, added ? of_sum : at::Tensor(), {}, {}, {}};
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor& weight = saved[2];
    const at::Tensor of_y = output_gradients[0].contiguous();
    const at::Tensor to_sum = at::empty_like(of_y);
    const at::Tensor to_weight = at::empty_like(weight);
    const at::Tensor to_bias = at::empty_like(weight);
    AT_DISPATCH_FLOATING_TYPES(of_y.scalar_type(), "layer_norm_backward", [&] {
      layer_norm_backward(of_y.const_data_ptr<scalar_t>(),
                          of_sum.defined() ? of_sum.const_data_ptr<scalar_t>() : nullptr,
                          weight.const_data_ptr<scalar_t>(), normal_rows<scalar_t>(saved[0], saved[1]),
                          to_sum.mutable_data_ptr<scalar_t>(), to_weight.mutable_data_ptr<scalar_t>(),
                          to_bias.mutable_data_ptr<scalar_t>());
    });
    return {to_sum, added ? to_sum : at::Tensor(), to_weight, to_bias, {}};
  }
};

}  // namespace

at::Tensor normalise(const at::Tensor& x, const NormParameters& parameters) {
  return Normalise::apply(x, std::optional<at::Tensor>(), parameters.weight, parameters.bias, false)[0];
}

at::Tensor normalise_sum(const at::Tensor& x, const at::Tensor& added, const NormParameters& parameters) {
  return Normalise::apply(x, std::optional(added), parameters.weight, parameters.bias, false)[0];
}

SumAndNormal sum_and_normalise(const at::Tensor& x, const at::Tensor& added, const NormParameters& parameters) {
  const std::vector<at::Tensor> both =
      Normalise::apply(x, std::optional(added), parameters.weight, parameters.bias, true);
  return {both[1], both[0]};
}

}  // namespace samegrad

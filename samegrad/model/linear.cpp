#include "samegrad/model/linear.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "samegrad/base/check.h"
#include "samegrad/kernels/elementwise.h"
#include "samegrad/kernels/multiply.h"
#include "samegrad/model/first_order.h"

namespace samegrad {
namespace {

template <typename Element>
MatrixView<Element> view_of(const at::Tensor& matrix) {
  return {matrix.const_data_ptr<Element>(), matrix.stride(0), matrix.stride(1)};
}

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    context->save_for_backward({x, weight});
    return product(x, weight.t(), bias);
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    refuse_second_gradient("a linear layer");
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor gradient = output_gradients[0].contiguous();
    std::vector<at::Tensor> gradients(3);
    if (context->needs_input_grad(0)) gradients[0] = product(gradient, saved[1]);
    if (context->needs_input_grad(1)) gradients[1] = product(gradient.t(), saved[0]);
    if (context->needs_input_grad(2)) gradients[2] = sum_of_rows(gradient);
    return gradients;
  }
};

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  SAMEGRAD_CHECK_OP(a.size(1), ==, b.size(0));
  at::Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "product", [&] {
    multiply(view_of<scalar_t>(a), view_of<scalar_t>(b), a.size(0), b.size(1), a.size(1),
             bias.defined() ? bias.const_data_ptr<scalar_t>() : nullptr, c.mutable_data_ptr<scalar_t>());
  });
  return c;
}

at::Tensor sum_of_rows(const at::Tensor& rows) {
  const at::Tensor dense = rows.contiguous();
  at::Tensor sum = at::empty({rows.size(1)}, rows.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "sum_of_rows", [&] {
    column_sums(dense.const_data_ptr<scalar_t>(), rows.size(0), rows.size(1), sum.mutable_data_ptr<scalar_t>());
  });
  return sum;
}

at::Tensor linear(const at::Tensor& x, const LinearParameters& parameters) {
  return Linear::apply(x, parameters.weight, parameters.bias);
}

}  // namespace samegrad

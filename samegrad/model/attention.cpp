#include "samegrad/model/attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/kernels/attention.h"
#include "samegrad/model/first_order.h"
#include "samegrad/model/linear.h"

namespace samegrad {
namespace {

constexpr const char* kStage = "attention";

/// What both directions need beside the tensors; kept in the graph.
struct PackedAttentionCall : torch::CustomClassHolder {
  std::vector<std::int64_t> offsets;
  std::int64_t heads = 1;
  std::int64_t head_width = 1;
  bool causal = false;
  bool drops = false;
  KeyedMask mask;

  PackedShape shape() const {
    return {offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, heads, head_width, causal};
  }
  const KeyedMask* dropout() const { return drops ? &mask : nullptr; }
};

template <typename Element>
void run_forward(const PackedAttentionCall& call, const at::Tensor& qkv, at::Tensor& mixed, at::Tensor& statistics) {
  attention_forward(call.shape(), call.dropout(), qkv.const_data_ptr<Element>(), mixed.mutable_data_ptr<Element>(),
                    statistics.mutable_data_ptr<Element>());
}

template <typename Element>
void run_backward(const PackedAttentionCall& call, const std::vector<at::Tensor>& saved, const at::Tensor& gradient,
                  at::Tensor& qkv_gradient) {
  attention_backward(call.shape(), call.dropout(), saved[0].const_data_ptr<Element>(),
                     saved[1].const_data_ptr<Element>(), saved[2].const_data_ptr<Element>(),
                     gradient.const_data_ptr<Element>(), qkv_gradient.mutable_data_ptr<Element>());
}

struct PackedAttention : torch::autograd::Function<PackedAttention> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& given,
                            const c10::intrusive_ptr<PackedAttentionCall>& call) {
    const at::Tensor qkv = given.contiguous();
    const std::int64_t tokens = qkv.size(0);
    at::Tensor mixed = at::empty({tokens, call->heads * call->head_width}, qkv.options());
    at::Tensor statistics = at::empty({tokens, call->heads, 2}, qkv.options());
    if (qkv.scalar_type() == at::kDouble) {
      run_forward<double>(*call, qkv, mixed, statistics);
    } else {
      run_forward<float>(*call, qkv, mixed, statistics);
    }
    context->save_for_backward({qkv, mixed, statistics});
    context->saved_data["call"] = at::IValue::make_capsule(call);
    return mixed;
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& gradients) {
    refuse_second_gradient("attention");
    const auto call = c10::static_intrusive_pointer_cast<PackedAttentionCall>(context->saved_data["call"].toCapsule());
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor qkv_gradient = at::empty_like(saved[0]);
    if (saved[0].scalar_type() == at::kDouble) {
      run_backward<double>(*call, saved, gradient, qkv_gradient);
    } else {
      run_backward<float>(*call, saved, gradient, qkv_gradient);
    }
    return {qkv_gradient, at::Tensor()};
  }
};

}  // namespace

at::Tensor packed_attention(const at::Tensor& qkv, std::span<const std::int64_t> offsets, AttentionShape shape,
                            const Dropout& dropout, std::int64_t layer) {
  if (!qkv.is_cpu() || (qkv.scalar_type() != at::kFloat && qkv.scalar_type() != at::kDouble)) {
    throw InputError(kStage,
                     "the packed operation got " + qkv.toString() + "; it takes float32 and float64 on the CPU");
  }
  SAMEGRAD_CHECK_OP(qkv.dim(), ==, 2);
  SAMEGRAD_CHECK_OP(qkv.size(1) % (3 * shape.heads), ==, 0);
  SAMEGRAD_CHECK_OP(offsets.empty(), ==, false);
  SAMEGRAD_CHECK_OP(offsets.front(), ==, 0);
  SAMEGRAD_CHECK_OP(offsets.back(), ==, qkv.size(0));
  auto call = c10::make_intrusive<PackedAttentionCall>();
  call->offsets.assign(offsets.begin(), offsets.end());
  call->heads = shape.heads;
  call->head_width = qkv.size(1) / (3 * shape.heads);
  call->causal = shape.causal;
  call->drops = dropout.active();
  if (call->drops) call->mask = dropout.numbers({layer, DropoutPlace::kAttentionWeights});
  return PackedAttention::apply(qkv, call);
}

at::Tensor self_attention(const at::Tensor& x, std::span<const std::int64_t> offsets, const LayerParameters& parameters,
                          AttentionShape shape, const Dropout& dropout, std::int64_t layer) {
  const at::Tensor qkv = linear(x, parameters.in_projection);
  const at::Tensor mixed = packed_attention(qkv, offsets, shape, dropout, layer);
  return dropout(linear(mixed, parameters.out_projection), {layer, DropoutPlace::kAttention});
}

}  // namespace samegrad

#include "samegrad/ddp/gradient_landing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

namespace samegrad {
namespace {

namespace autograd_tensor = torch::autograd::impl;

/// As an operand, not as a number: adding a number into another tensor makes a temporary one first.
at::Tensor zero_like(const at::Tensor& tensor) { return at::zeros({}, tensor.options()); }

}  // namespace

struct GradientLanding::Hook : torch::autograd::PostAccumulateGradHook {
  Hook(GradientLanding& owner, std::size_t index, std::unique_ptr<PostAccumulateGradHook> before)
      : landing(&owner), parameter(index), users(std::move(before)) {}

  void operator()(const at::Tensor& tensor) override {
    // Fires also where autograd found that there is no gradient.
    if (tensor.grad().defined() && !landing->landed_[parameter]) {
      const at::NoGradGuard no_grad;
      at::Tensor& place = landing->buffer_->tensors[parameter];
      if (tensor.grad().layout() == at::kStrided) {
        at::add_out(place, tensor.grad(), zero_like(place));  // as 0 + g: a gradient of -0 becomes +0
      } else {
        place.zero_().add_(tensor.grad());
      }
      tensor.mutable_grad() = place;
      landing->landed_[parameter] = 1;
    }
    if (users) (*users)(tensor);
  }

  GradientLanding* landing;
  std::size_t parameter;
  std::unique_ptr<PostAccumulateGradHook> users;
};

GradientLanding::GradientLanding(const ParameterSet& parameters, GradientBuffer& buffer)
    : parameters_(&parameters), buffer_(&buffer), landed_(parameters.parameters().size()) {
  for (std::size_t i = 0; i < landed_.size(); ++i) {
    const at::Tensor& tensor = parameters_->parameters()[i].tensor;
    auto before = std::move(autograd_tensor::post_acc_grad_hooks(tensor));
    autograd_tensor::set_post_acc_grad_hooks(tensor, std::make_unique<Hook>(*this, i, std::move(before)));
  }
}

GradientLanding::~GradientLanding() {
  for (const NamedTensor& parameter : parameters_->parameters()) {
    auto& held = autograd_tensor::post_acc_grad_hooks(parameter.tensor);
    if (auto* const mine = dynamic_cast<Hook*>(held.get())) {
      auto users = std::move(mine->users);
      held = std::move(users);
    }
  }
}

bool GradientLanding::is_untouched(std::size_t parameter) const {
  const at::Tensor& gradient = parameters_->parameters()[parameter].tensor.grad();
  return landed(parameter) ? gradient.is_same(buffer_->tensors[parameter]) : !gradient.defined();
}

void GradientLanding::fill_others() const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < landed_.size(); ++i) {
    if (!landed(i)) buffer_->tensors[i].zero_();
  }
}

}  // namespace samegrad

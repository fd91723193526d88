#include "samegrad/ddp/gradient_buckets.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace samegrad {
namespace {

/// A tensor like `parameter` at element `offset` of `flat`. Not a view for autograd: zero_grad() may detach it.
at::Tensor tensor_over(const at::Tensor& flat, std::int64_t offset, const at::Tensor& parameter) {
  auto* const data = static_cast<char*>(flat.data_ptr()) + offset * static_cast<std::int64_t>(flat.element_size());
  const auto keep_memory = [flat](void*) {};
  const auto options = parameter.options().requires_grad(false);
  if (parameter.is_non_overlapping_and_dense()) {
    return at::from_blob(data, parameter.sizes(), parameter.strides(), keep_memory, options);
  }
  return at::from_blob(data, parameter.sizes(), keep_memory, options);
}

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<NamedTensor>& parameters, const std::vector<BucketLayout>& layout)
    : views_(parameters.size()), bucket_of_(parameters.size()) {
  for (const BucketLayout& bucket : layout) {
    GradientBucket memory;
    memory.flat =
        at::zeros({bucket.elements}, parameters[bucket.places.front().parameter].tensor.options().requires_grad(false));
    for (const BucketPlace& place : bucket.places) {
      views_[place.parameter] = tensor_over(memory.flat, place.offset, parameters[place.parameter].tensor);
      bucket_of_[place.parameter] = buckets_.size();
      memory.parameters.push_back(place.parameter);
    }
    buckets_.push_back(std::move(memory));
  }
}

void copy_gradient(const at::Tensor& gradient, const at::Tensor& place) {
  const at::NoGradGuard no_grad;
  if (gradient.layout() != at::kStrided) {
    place.zero_().add_(gradient);
  } else if (gradient.const_data_ptr() != place.const_data_ptr()) {
    place.copy_(gradient);
  }
}

}  // namespace samegrad

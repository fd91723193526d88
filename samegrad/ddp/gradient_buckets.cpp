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

at::Tensor zeros_in(GradientMemory* memory, std::int64_t elements, const at::TensorOptions& options) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * options.dtype().itemsize();
  if (memory != nullptr && options.device().is_cpu()) {
    if (const std::shared_ptr<std::byte> block = memory->allocate(bytes)) {
      return at::from_blob(
                 block.get(), {elements}, [block](void*) {}, options)
          .zero_();
    }
  }
  return at::zeros({elements}, options);
}

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<NamedTensor>& parameters, const std::vector<BucketLayout>& layout,
                                 GradientMemory* memory)
    : views_(parameters.size()), bucket_of_(parameters.size()) {
  for (const BucketLayout& bucket : layout) {
    GradientBucket made;
    made.flat = zeros_in(memory, bucket.elements,
                         parameters[bucket.places.front().parameter].tensor.options().requires_grad(false));
    for (const BucketPlace& place : bucket.places) {
      views_[place.parameter] = tensor_over(made.flat, place.offset, parameters[place.parameter].tensor);
      bucket_of_[place.parameter] = buckets_.size();
      made.parameters.push_back(place.parameter);
    }
    buckets_.push_back(std::move(made));
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

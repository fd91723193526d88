// The memory of the buckets, and each parameter's gradient as a tensor over its place there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "samegrad/comm/gradient_memory.h"
#include "samegrad/ddp/bucket_layout.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// One bucket's memory.
struct GradientBucket {
  at::Tensor flat;                      ///< [elements]; gaps are 0
  std::vector<std::size_t> parameters;  ///< by index
};

/// Dense, or sparse as a dense one; nothing where it is there already. Local.
void copy_gradient(const at::Tensor& gradient, const at::Tensor& place);

class GradientBuckets {
 public:
  /// Memory of +0 for `parameters` as `layout` says; on the CPU in `memory`, where it is given and has room. Local.
  GradientBuckets(const std::vector<NamedTensor>& parameters, const std::vector<BucketLayout>& layout,
                  GradientMemory* memory = nullptr);

  std::vector<GradientBucket>& buckets() { return buckets_; }
  /// Parameter `parameter`'s gradient, of its shape, strides and dtype. It keeps the bucket's memory alive.
  const at::Tensor& view(std::size_t parameter) const { return views_[parameter]; }
  std::size_t bucket_of(std::size_t parameter) const { return bucket_of_[parameter]; }

 private:
  std::vector<GradientBucket> buckets_;
  std::vector<at::Tensor> views_;       // by parameter
  std::vector<std::size_t> bucket_of_;  // by parameter
};

}  // namespace samegrad

// Communication hooks: a user's own exchange of a bucket of gradients, in the place of the library's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/comm/world.h"

namespace samegrad {

/// A bucket as a hook sees it.
struct GradBucket {
  std::size_t index = 0;  ///< in the order of exchange, from 0
  bool is_last = false;
  at::Tensor buffer;                    ///< [elements] of one dtype: this rank's gradients, with gaps of 0
  std::vector<at::Tensor> gradients;    ///< the parts of `buffer`, each in its parameter's shape
  std::vector<std::string> parameters;  ///< their names
};

/// Returns what replaces the bucket's buffer on this rank: same elements, same dtype. It may change the buffer and
/// return it. Nothing is divided afterwards. Every rank must return the same values, or models drift apart: a check of
/// the parameters (check_sync_every) sees it. Called in the thread of backward, bucket by bucket; may use `world`'s
/// collectives, the same ones on every rank. Collective.
using CommHook = std::function<at::Tensor(GradBucket& bucket, const World& world)>;

/// The library's own exchange as a hook: the mean over ranks. A start for own hooks. Collective.
at::Tensor mean_hook(GradBucket& bucket, const World& world);
/// The sum over ranks. Collective.
at::Tensor sum_hook(GradBucket& bucket, const World& world);
/// The mean of gradients rounded to float16 (at most 65504) or bfloat16 before they leave: half the traffic of float32.
/// Sums are made in float32 and rounded once more. Collective.
at::Tensor fp16_compress_hook(GradBucket& bucket, const World& world);
at::Tensor bf16_compress_hook(GradBucket& bucket, const World& world);

}  // namespace samegrad

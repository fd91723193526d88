#include "samegrad/ddp/comm_hook.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include <span>

#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

CallLabel label_of(const World& world) { return {"compressed gradient", 0, world.timeout()}; }

std::span<std::byte> bytes_of(at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

/// Each rank owns a shard: it gets all ranks' halves of it, adds them in float32 in rank order, divides, and sends the
/// rounded result to all.
at::Tensor mean_of_halves(const GradBucket& bucket, const World& world, at::ScalarType half) {
  // Of complex numbers, the real and imaginary parts.
  const at::Tensor values = bucket.buffer.is_complex() ? at::view_as_real(bucket.buffer).view({-1}) : bucket.buffer;
  const std::int64_t ranks = world.size();
  const std::int64_t elements = values.numel();
  const std::int64_t shard = (elements + ranks - 1) / ranks;
  const auto options = values.options().dtype(half);
  at::Tensor sent = at::zeros({ranks * shard}, options);
  sent.narrow(0, 0, elements).copy_(values);
  at::Tensor received = at::empty({ranks, shard}, options);
  world.communicator().all_to_all(bytes_of(sent), bytes_of(received), label_of(world));
  at::Tensor sum = received[0].to(at::kFloat);
  for (std::int64_t rank = 1; rank < ranks; ++rank) sum.add_(received[rank]);
  divide_gradient(sum.mutable_data_ptr<float>(), shard, exchange_divisor(GradientReduction::kMean, ranks));
  at::Tensor mine = sum.to(half);
  world.communicator().all_gather(bytes_of(mine), bytes_of(sent), label_of(world));
  values.copy_(sent.narrow(0, 0, elements));
  return bucket.buffer;
}

at::Tensor exchanged(GradBucket& bucket, const World& world, GradientReduction reduction) {
  exchange_gradient(world.communicator(), bucket.buffer, {.reduction = reduction},
                    {"gradient bucket", static_cast<std::int64_t>(bucket.index), world.timeout()});
  return bucket.buffer;
}

}  // namespace

at::Tensor mean_hook(GradBucket& bucket, const World& world) {
  return exchanged(bucket, world, GradientReduction::kMean);
}

at::Tensor sum_hook(GradBucket& bucket, const World& world) {
  return exchanged(bucket, world, GradientReduction::kSum);
}

at::Tensor fp16_compress_hook(GradBucket& bucket, const World& world) {
  return mean_of_halves(bucket, world, at::ScalarType::Half);
}

at::Tensor bf16_compress_hook(GradBucket& bucket, const World& world) {
  return mean_of_halves(bucket, world, at::ScalarType::BFloat16);
}

}  // namespace samegrad

#include "samegrad/model/dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"
#include "samegrad/kernels/dropout_mask.h"

namespace samegrad {
Dropout::Dropout(double probability, const std::optional<DropoutKey>& key)
    : probability_(probability), key_(probability > 0.0 ? key : std::nullopt) {
  SAMEGRAD_CHECK_OP(probability, >=, 0.0);
  SAMEGRAD_CHECK_OP(probability, <, 1.0);
}

std::optional<at::Tensor> Dropout::mask(at::IntArrayRef shape, at::ScalarType type, DropoutOperation operation,
                                        std::int64_t first_element) const {
  if (!active()) return std::nullopt;
  const PhiloxKey key = philox_key(key_->seed, PhiloxStream::kDropout);
  const MaskNumbers numbers{.key0 = key[0],
                            .key1 = key[1],
                            .operation = static_cast<std::uint32_t>(operation.number()),
                            .atom = static_cast<std::uint32_t>(key_->atom),
                            .update = static_cast<std::uint32_t>(key_->update)};
  at::Tensor mask = at::empty(shape, at::TensorOptions().dtype(type));
  AT_DISPATCH_FLOATING_TYPES(type, "dropout_mask", [&] {
    dropout_mask(numbers, static_cast<float>(probability_), static_cast<scalar_t>(1.0 / (1.0 - probability_)),
                 first_element, mask.numel(), mask.mutable_data_ptr<scalar_t>());
  });
  return mask;
}

at::Tensor Dropout::operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element) const {
  return active() ? x * *mask(x.sizes(), x.scalar_type(), operation, first_element) : x;
}

}  // namespace samegrad

#include "samegrad/model/dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"

namespace samegrad {
Dropout::Dropout(double probability, const std::optional<DropoutKey>& key)
    : probability_(probability), key_(probability > 0.0 ? key : std::nullopt) {
  SAMEGRAD_CHECK_OP(probability, >=, 0.0);
  SAMEGRAD_CHECK_OP(probability, <, 1.0);
}

KeyedMask Dropout::numbers(DropoutOperation operation) const {
  SAMEGRAD_CHECK_OP(active(), ==, true);
  const PhiloxKey philox = philox_key(key_->seed, PhiloxStream::kDropout);
  // A word is dropped where its upper 24 bits, as a fraction, are below the probability rounded to float.
  const double threshold = std::ceil(static_cast<double>(static_cast<float>(probability_)) * 0x1.0p24);
  return {.key = {philox[0], philox[1]},
          .operation = static_cast<std::uint32_t>(operation.number()),
          .atom = static_cast<std::uint32_t>(key_->atom),
          .update = static_cast<std::uint32_t>(key_->update),
          .threshold = static_cast<std::uint32_t>(threshold),
          .kept = 1.0 / (1.0 - probability_)};
}

std::optional<at::Tensor> Dropout::mask(at::IntArrayRef shape, at::ScalarType type, DropoutOperation operation,
                                        std::int64_t first_element) const {
  if (!active()) return std::nullopt;
  at::Tensor mask = at::empty(shape, at::TensorOptions().dtype(type));
  AT_DISPATCH_FLOATING_TYPES(type, "keyed_mask", [&] {
    keyed_mask(numbers(operation), first_element, mask.numel(), mask.mutable_data_ptr<scalar_t>());
  });
  return mask;
}

at::Tensor Dropout::operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element) const {
  return active() ? x * *mask(x.sizes(), x.scalar_type(), operation, first_element) : x;
}

}  // namespace samegrad

#include "samegrad/model/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"

namespace samegrad {
namespace {

template <typename Element>
at::Tensor mask_of(const at::Tensor& like, const KeyedMask& mask, std::int64_t first_element) {
  at::Tensor values = at::empty(like.sizes(), like.options().dtype(c10::CppTypeToScalarType<Element>::value).requires_grad(false));
  keyed_mask(mask, first_element, values.numel(), values.template mutable_data_ptr<Element>());
  return values;
}

}  // namespace

Dropout::Dropout(double probability, const std::optional<DropoutKey>& key)
    : probability_(probability), key_(probability > 0.0 ? key : std::nullopt) {
  SAMEGRAD_CHECK_OP(probability, >=, 0.0);
  SAMEGRAD_CHECK_OP(probability, <, 1.0);
}

KeyedMask Dropout::mask(DropoutOperation operation) const {
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

at::Tensor Dropout::operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element) const {
  if (!active()) return x;
  const KeyedMask of_operation = mask(operation);
  return x * (x.scalar_type() == at::kDouble ? mask_of<double>(x, of_operation, first_element)
                                             : mask_of<float>(x, of_operation, first_element));
}

}  // namespace samegrad

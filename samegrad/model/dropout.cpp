#include "samegrad/model/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"

namespace samegrad {
namespace {

/// The mask's values: 0 or 1 / (1 - probability). Four neighbours share a Philox block. Which are 0 does not depend on
/// Element.
template <typename Element>
at::Tensor dropout_mask(const at::Tensor& like, double probability, const DropoutKey& key, DropoutOperation operation,
                        std::int64_t first_element) {
  at::Tensor mask =
      at::empty(like.sizes(), like.options().dtype(c10::CppTypeToScalarType<Element>::value).requires_grad(false));
  auto* values = mask.template mutable_data_ptr<Element>();
  const auto threshold = static_cast<float>(probability);
  const auto kept = static_cast<Element>(1.0 / (1.0 - probability));
  const PhiloxKey philox = philox_key(key.seed, PhiloxStream::kDropout);
  PhiloxCounter block{};
  std::int64_t block_index = -1;
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    const std::int64_t element = first_element + i;
    if (element / 4 != block_index) {
      block_index = element / 4;
      block = philox4x32({static_cast<std::uint32_t>(block_index), static_cast<std::uint32_t>(operation.number()),
                          static_cast<std::uint32_t>(key.atom), static_cast<std::uint32_t>(key.update)},
                         philox);
    }
    values[i] = philox_unit_float(block[static_cast<std::size_t>(element % 4)]) < threshold ? Element{0} : kept;
  }
  return mask;
}

}  // namespace

Dropout::Dropout(double probability, const std::optional<DropoutKey>& key)
    : probability_(probability), key_(probability > 0.0 ? key : std::nullopt) {
  SAMEGRAD_CHECK_OP(probability, >=, 0.0);
  SAMEGRAD_CHECK_OP(probability, <, 1.0);
}

at::Tensor Dropout::operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element) const {
  if (!active()) return x;
  return x * (x.scalar_type() == at::kDouble ? dropout_mask<double>(x, probability_, *key_, operation, first_element)
                                             : dropout_mask<float>(x, probability_, *key_, operation, first_element));
}

}  // namespace samegrad

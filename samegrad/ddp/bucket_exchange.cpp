#include "samegrad/ddp/bucket_exchange.h"

#include <ATen/ops/view_as_real.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

/// Each rank is one leaf of the tree.
template <typename Element>
void exchange_elements(Communicator& comm, std::span<Element> values, const ExchangeRule& rule,
                       const CallLabel& label) {
  const double divisor = exchange_divisor(rule.reduction, rule.mean_over > 0 ? rule.mean_over : comm.size());
  auto* const native = rule.order == ReductionOrder::kNative ? dynamic_cast<NativeAllReduce*>(&comm) : nullptr;
  if (native != nullptr) {
    native->all_reduce_sum(values, label);
    divide_gradient(values.data(), static_cast<std::int64_t>(values.size()), divisor);
    return;
  }
  std::vector<AtomRange> ranges;
  ranges.reserve(static_cast<std::size_t>(comm.size()));
  for (int rank = 0; rank < comm.size(); ++rank) ranges.push_back({rank, rank + 1});
  const std::array<SubtreeGradient<Element>, 1> mine{{{ranges[static_cast<std::size_t>(comm.rank())], values.data()}}};
  reduce_canonically(comm, ranges, mine, values, divisor, label);
}

template <typename Element>
std::span<Element> elements_of(at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<Element>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

bool can_exchange(at::ScalarType dtype) {
  switch (dtype) {
    case at::ScalarType::Float:
    case at::ScalarType::Double:
    case at::ScalarType::Half:
    case at::ScalarType::BFloat16:
    case at::ScalarType::ComplexFloat:
    case at::ScalarType::ComplexDouble:
      return true;
    default:
      return false;
  }
}

void exchange_gradient(Communicator& comm, at::Tensor& gradient, const ExchangeRule& rule, const CallLabel& label) {
  if (comm.size() == 1) return;
  switch (gradient.scalar_type()) {
    case at::ScalarType::Float:
      return exchange_elements(comm, elements_of<float>(gradient), rule, label);
    case at::ScalarType::Double:
      return exchange_elements(comm, elements_of<double>(gradient), rule, label);
    case at::ScalarType::Half:
    case at::ScalarType::BFloat16: {
      at::Tensor wide = gradient.to(at::kFloat);
      exchange_elements(comm, elements_of<float>(wide), rule, label);
      gradient.copy_(wide);
      return;
    }
    case at::ScalarType::ComplexFloat:
    case at::ScalarType::ComplexDouble: {
      at::Tensor parts = at::view_as_real(gradient);
      return exchange_gradient(comm, parts, rule, label);
    }
    default:
      throw InputError("ddp", std::string("gradient of dtype ") + c10::toString(gradient.scalar_type()) +
                                  ": allowed are float16, bfloat16, float32, float64, complex64, complex128");
  }
}

}  // namespace samegrad

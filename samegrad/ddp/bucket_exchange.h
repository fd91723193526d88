// The exchange of gradients outside a Window: every rank's tensor becomes the mean, or the sum, of all ranks'.
#pragma once

#include <ATen/core/Tensor.h>

#include "samegrad/comm/communicator.h"
#include "samegrad/ddp/ddp_options.h"

namespace samegrad {

struct ExchangeRule {
  GradientReduction reduction = GradientReduction::kMean;
  ReductionOrder order = ReductionOrder::kCanonical;
  std::int64_t mean_over = 0;  ///< kMean: ranks that the sum is divided by; 0: all
};

/// `gradient` [elements], contiguous, on the CPU, becomes the mean (kMean) or sum (kSum) over ranks, in place, the same
/// bits on every rank. kCanonical adds float32, float64 and complex numbers in their own type by the tree over ranks
/// (plan/atom_tree.h), and float16 and bfloat16 in float32 with one rounding at the end. kNative leaves the sum to the
/// backend where it has an all-reduce of its own (comm/native_all_reduce.h). Throws InputError for another dtype, else
/// as Communicator::all_to_all. Collective.
void exchange_gradient(Communicator& comm, at::Tensor& gradient, const ExchangeRule& rule, const CallLabel& label);

/// Whether exchange_gradient takes this dtype. Local.
bool can_exchange(at::ScalarType dtype);

}  // namespace samegrad

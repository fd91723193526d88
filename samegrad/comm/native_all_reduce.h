// A backend's own all-reduce: fast where its library is, in an order that is the library's own.
#pragma once

#include <span>

#include "samegrad/comm/communicator.h"

namespace samegrad {

class NativeAllReduce {
 public:
  virtual ~NativeAllReduce() = default;

  /// `values` becomes the sum over ranks, the same bits on all. Errors as Communicator::all_to_all. Collective.
  virtual void all_reduce_sum(std::span<float> values, const CallLabel& label) = 0;
  virtual void all_reduce_sum(std::span<double> values, const CallLabel& label) = 0;
};

}  // namespace samegrad

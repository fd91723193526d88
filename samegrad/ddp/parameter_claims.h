// Which parameters of this process are wrapped: by two wrappers, each would exchange the gradients of both.
#pragma once

#include <string>
#include <vector>

#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

class ParameterClaims {
 public:
  ParameterClaims() = default;
  ~ParameterClaims() { replace({}); }
  ParameterClaims(const ParameterClaims&) = delete;
  ParameterClaims& operator=(const ParameterClaims&) = delete;

  /// The name of the first of `parameters` that another ParameterClaims of the process holds, or "". Local.
  std::string held_elsewhere(const std::vector<NamedTensor>& parameters) const;
  /// From now on holds these, instead of what it held. Local.
  void replace(const std::vector<NamedTensor>& parameters);

 private:
  std::vector<at::Tensor> held_;
};

}  // namespace samegrad

// A window over a wrapped model: while one of its atoms runs, forward and backward are the window's own affair.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <vector>

#include "samegrad/ddp/window.h"

namespace samegrad {

class DataParallel;

/// Whose window it is may not be wrapped anew, destroyed or asked for another window while it lives.
class ModelWindow final : public Window {
 public:
  /// As Window's; `owner` is told of it. Collective.
  ModelWindow(DataParallel& owner, const ParameterSet& parameters, GradientBufferPool& pool,
              const WindowRequest& request, std::vector<NamedTensor> buffers, const WindowOptions& options);
  ~ModelWindow() override;

  /// As Window::reduce. ATen's default generator is afterwards as it was before the window. Collective.
  bool reduce() override;

 private:
  void inside_atom(bool inside) override;
  void close();

  DataParallel* owner_;
  bool reduced_ = false;
  int exceptions_at_start_ = std::uncaught_exceptions();
  at::Tensor generator_state_;  // undefined: nothing to set back
};

}  // namespace samegrad

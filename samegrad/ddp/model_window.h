// A window over a wrapped model: while one of its atoms runs, forward and backward are the window's own affair.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <memory>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/ddp/window.h"

namespace samegrad {

class DataParallel;

/// What a window of a model needs, whatever becomes of the one that it was asked of.
struct ModelWindowParts {
  std::weak_ptr<DataParallel> owner;
  World world;
  std::shared_ptr<const ParameterSet> parameters;
  std::shared_ptr<GradientBufferPool> pool;
};

/// Once it has trained its atoms, it can be reduced also where its DistributedDataParallel is gone; then nothing is
/// compared by check_sync_every.
class ModelWindow final : private ModelWindowParts, public Window {
 public:
  /// As Window's; the owner is told of it. Collective.
  ModelWindow(ModelWindowParts parts, const WindowRequest& request, std::vector<NamedTensor> buffers,
              const WindowOptions& options);
  ~ModelWindow() override;

  /// As Window::reduce. ATen's default generator is afterwards as it was before the window. Collective.
  bool reduce() override;

 private:
  void inside_atom(bool inside) override;
  std::string model_change() const override;
  void close();

  bool reduced_ = false;
  int exceptions_at_start_ = std::uncaught_exceptions();
  at::Tensor generator_state_;  // undefined: nothing to set back
};

}  // namespace samegrad

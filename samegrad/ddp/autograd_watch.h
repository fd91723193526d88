// What autograd does to a model's parameters: a gradient came, a backward pass through the model began, the outermost
// one ended. Only the end of the outermost pass says that gradients are complete: a recomputed segment (gradient
// checkpointing) runs passes of its own inside, and a parameter used several times gets several gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "samegrad/ddp/named_tensor.h"
#include "samegrad/ddp/value_mark.h"

namespace samegrad {

/// Called in the thread that runs backward. Exceptions reach whoever called backward.
struct AutogradEvents {
  /// Before a gradient is added to the parameter's .grad; may be empty.
  std::function<void(std::size_t parameter)> before_gradient;
  /// After it was added; `defined` is false where autograd found that there is none.
  std::function<void(std::size_t parameter, bool defined)> after_gradient;
  /// A pass through a watched output began. Gradients of it may have come before.
  std::function<void(bool synchronize)> begin;
  /// The outermost pass has ended. `synchronize`: a forward of it asked for an exchange.
  std::function<void(bool synchronize)> end;
};

class AutogradWatch {
 public:
  /// Hooks onto `parameters`, leaves that require a gradient; unhooks when destroyed. A backward after that, through an
  /// output that was to be synchronized, throws InputError. Local.
  AutogradWatch(const std::vector<NamedTensor>& parameters, AutogradEvents events);
  ~AutogradWatch();
  AutogradWatch(const AutogradWatch&) = delete;
  AutogradWatch& operator=(const AutogradWatch&) = delete;

  /// A backward through one of `outputs`, of one forward, is a pass to be told of. Local.
  void watch(const std::vector<at::Tensor>& outputs, bool synchronize);
  /// Whether a pass through the model is running now. Local.
  bool in_backward() const;
  /// How many passes gave gradients without going through a watched output: the model was called past its wrapper.
  std::int64_t stray_passes() const;
  /// The first parameter whose values changed since the newest pass began. Local.
  std::optional<std::size_t> changed_parameter() const;
  /// While set, nothing is told. Local.
  void set_paused(bool paused);

 private:
  struct State;
  struct Hook;

  void hook_accumulator(std::size_t parameter);

  std::shared_ptr<State> state_;
  std::vector<Hook> hooks_;
};

}  // namespace samegrad

// Data-parallel training of a torch::nn::Module, as torch.nn.parallel.DistributedDataParallel has it in Python, with
// windows that are exact: the same gradient and the same bits for every number of processes (docs/ddp.md).
//
//   auto world = samegrad::init();
//   samegrad::DistributedDataParallel ddp(model, world);
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/world.h"
#include "samegrad/ddp/comm_hook.h"
#include "samegrad/ddp/data_parallel.h"
#include "samegrad/ddp/ddp_options.h"
#include "samegrad/ddp/module_contents.h"
#include "samegrad/ddp/output_tensors.h"

namespace samegrad {

/// `Module` points to a torch::nn::Module: a holder (TORCH_MODULE, torch::nn::Linear, torch::nn::Sequential) or a
/// std::shared_ptr. Not for use by several threads at once.
template <typename Module>
class DistributedDataParallel {
 public:
  /// Wraps `module`, whose parameters and buffers stay its own. Throws InputError on every rank where ranks hold
  /// different modules or give different options, an option's value is not allowed, a parameter or buffer is not on the
  /// CPU or of a dtype that cannot be exchanged, another wrapper that lives trains the same parameter, or nothing is
  /// trained. Collective.
  explicit DistributedDataParallel(Module module, const World& world, DistributedDataParallelOptions options = {})
      : module_(std::move(module)),
        core_(std::make_unique<DataParallel>([module = module_] { return module_contents(*module); }, world,
                                             std::move(options),
                                             [module = module_] { return parameters_mark(*module); })) {
    core_->log_choices();
  }

  /// The module's forward. In training a backward through what it returns ends with the exchange of all gradients
  /// (see no_sync). Collective: buffers may be exchanged (DistributedDataParallelOptions::broadcast_buffers).
  template <typename... Arguments>
  auto forward(Arguments&&... arguments) {
    core().before_forward(module_->is_training());
    auto result = module_->forward(std::forward<Arguments>(arguments)...);
    std::vector<at::Tensor> outputs;
    append_output_tensors(result, outputs);
    core_->after_forward(outputs);
    return result;
  }
  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) {
    return forward(std::forward<Arguments>(arguments)...);
  }

  /// One update's worth of atoms, exactly: window.backward(callable) for each of this rank's atoms, window.reduce(),
  /// optimizer step. See ddp/window.h and DataParallel::window. Collective.
  ModelWindow window(WindowRequest request) { return core().window(std::move(request)); }

  /// While the returned scope lives, backward passes exchange nothing; gradients add up in .grad and are exchanged by
  /// the first pass whose forward was outside. Forward and backward must both be inside: forward decides. Local.
  NoSync no_sync() { return NoSync(core()); }

  /// Trains on ranks with unequal numbers of batches: `loop` calls forward and backward as often as the rank has data.
  /// A rank whose loop has ended takes part in the others' exchanges with zeros. See DataParallel::join. Collective.
  template <typename Loop>
  void join(Loop&& loop, const JoinOptions& options = {}) {
    core().join(std::forward<Loop>(loop), options);
  }

  /// Replaces the exchange of gradients outside windows (ddp/comm_hook.h); once, on every rank, before the first
  /// forward that records a graph: throws InputError after it, and for a second one. Local.
  void register_comm_hook(CommHook hook) { core().register_comm_hook(std::move(hook)); }

  /// Sets the module to training. Local.
  void train() {
    core();
    module_->train();
  }
  /// Sets the module to evaluation, with rank 0's buffers on all ranks. Collective.
  void eval() {
    core().sync_buffers();
    module_->eval();
  }
  /// Rank 0's buffers go to all ranks: before saving. Collective.
  void sync_buffers() { core().sync_buffers(); }
  /// Throws RunError on every rank, naming the first parameter or buffer whose bits differ between ranks. Collective.
  void check_sync() { core().check_sync(); }

  Module& module() { return module_; }
  const World& world() const { return core().world(); }
  /// One line of choices, then the layout of the buckets, one line each. Local.
  std::string describe() const { return core().describe(); }
  /// Throws InputError where this object was moved from. Local.
  DataParallel& core() const {
    if (core_) return *core_;
    throw InputError("ddp", "this DistributedDataParallel was moved from; use the one that it was moved to");
  }

 private:
  Module module_;
  std::unique_ptr<DataParallel> core_;
};

}  // namespace samegrad

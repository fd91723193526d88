// The optimizers, each one pass over flat memory. Element by element in float32; scalars are doubles, rounded once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"
#include "samegrad/ddp/flat_parameters.h"

namespace samegrad {

class Optimizer {
 public:
  /// A state value per parameter element, e.g. momentum.
  struct StateBlock {
    std::string name;
    AlignedBlock values;
  };

  virtual ~Optimizer() = default;

  /// One step: changes `values` and the state. `gradient` is clipped already. Local.
  virtual void step(std::span<float> values, std::span<const float> gradient, double learning_rate) = 0;
  /// Numbers that a continued run needs beside the blocks (doubles round-trip). Local.
  virtual Json scalars() const = 0;
  /// The inverse; throws CheckError naming what is missing. Local.
  virtual void restore_scalars(const Json& scalars) = 0;

  std::vector<StateBlock>& state() { return state_; }
  const std::vector<StateBlock>& state() const { return state_; }
  /// Steps taken. A skipped window takes none.
  std::int64_t steps() const { return steps_; }

 protected:
  std::vector<StateBlock> state_;
  std::int64_t steps_ = 0;
};

/// SGD with momentum and weight decay as torch.optim.SGD (dampening 0, no Nesterov), or AdamW as torch.optim.AdamW
/// (Loshchilov and Hutter 2019; no AMSGrad), over `flat_elements` values. Local.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::int64_t flat_elements);

}  // namespace samegrad

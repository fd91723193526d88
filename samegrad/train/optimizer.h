// The optimizers, each one pass over flat memory, clipping and hash included. Element by element in float32; scalars
// are doubles, rounded once.
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

  /// Begins a step, in which each element of the gradient is multiplied by `clip_factor` first: as a double, rounded
  /// to float. step_elements() makes it. Local.
  virtual void begin_step(double learning_rate, double clip_factor) = 0;
  /// Changes elements first.. of the flat block, and their state. Each element of a parameter once a step, in pieces of
  /// any size and order: they change no bits. Local.
  virtual void step_elements(std::int64_t first, std::span<float> values, std::span<const float> gradient) = 0;
  /// Numbers that a continued run needs beside the blocks (doubles round-trip). Local.
  virtual Json scalars() const = 0;
  /// The inverse. Throws CheckError naming `file` and the number that is missing or cannot be one of a training;
  /// nothing has been changed then. Local.
  virtual void restore_scalars(const Json& scalars, const std::string& file) = 0;

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

/// One step of all parameters. Returns elements_hash (train/whole_gradient.h) of the values after it, made piece by
/// piece while these are in the cache. Local.
std::string step_and_hash(Optimizer& optimizer, const FlatLayout& layout, std::span<float> values,
                          std::span<const float> gradient, double learning_rate, double clip_factor);

}  // namespace samegrad

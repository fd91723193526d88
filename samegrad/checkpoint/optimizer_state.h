// An optimizer of torch::optim as optimizer.safetensors holds it: state and options by the names of the parameters.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/module_tensors.h"

namespace torch::optim {
class Optimizer;
}

namespace samegrad::checkpoint {

struct StoredOptimizer {
  std::vector<StoredTensor> tensors;  ///< <parameter>.<state>; a number of steps is an int64 without dimension
  /// {"kind": "Adam", "groups": [{"parameters": [names], "options": {"lr": ...}}]}; kind "none" where there is none.
  Json options;
};

/// `optimizer` may be null. Throws InputError naming what is wrong: a kind that is not saved (LBFGS, a user's own), a
/// parameter that the module does not have, an option that is not finite. Local.
StoredOptimizer stored_optimizer(const torch::optim::Optimizer* optimizer, const ModuleTensors& module);

/// Reads all of optimizer.safetensors and returns what puts it into `optimizer`: that call changes options and state of
/// all groups, and cannot fail. Throws CheckError naming file and tensor (or group) where something does not fit:
/// another kind, another number of groups, other parameters in a group, state missing, surplus, of another shape or
/// type. Nothing has been changed then. Local.
std::function<void()> prepare_optimizer(const std::filesystem::path& file, const ModuleTensors& module,
                                        torch::optim::Optimizer* optimizer);

}  // namespace samegrad::checkpoint

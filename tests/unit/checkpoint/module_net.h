// A model with everything that a module can hold, and optimizers on it, for tests of checkpoint/module_checkpoint.h.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/step_lr.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad::testing {

/// Parameters tied, turned (not contiguous), of three types, without dimension, frozen, never used; buffers of every
/// type, empty ones, and BatchNorm's, which change with every forward.
struct Net : torch::nn::Module {
  explicit Net(std::uint64_t seed);
  at::Tensor loss(std::int64_t update, int rank);

  at::Tensor token, turned, wide, half, scale;
  torch::nn::BatchNorm1d norm;
};

/// An optimizer on two groups of a Net's parameters. `rate` multiplies the learning rates.
struct OptimizerCase {
  std::string name;
  std::function<std::unique_ptr<torch::optim::Optimizer>(Net&, double rate)> make;
};
std::vector<OptimizerCase> optimizer_cases();

/// A Net in training: the mean over ranks of the gradient, a step, a step of the scheduler,
/// rank 0's buffers.
struct Trained {
  Trained(const OptimizerCase& optimizer_case, std::uint64_t seed, double rate);
  void train(Communicator& comm, std::int64_t first, std::int64_t last);
  /// Digest of each tensor of model and optimizer, and the options: what decides the rest of a run.
  std::map<std::string, std::string> state() const;

  std::shared_ptr<Net> net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  torch::optim::StepLR scheduler;
};

}  // namespace samegrad::testing

// Small torch::nn modules for tests of DistributedDataParallel, with values that depend on nothing but their names.
#pragma once

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include "samegrad/comm/world.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad::testing {

/// Parameter values: the same on every rank and in every run.
inline void fill(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  double phase = 0.3;
  for (at::Tensor& parameter : module.parameters()) {
    parameter.copy_(at::sin(at::arange(parameter.numel(), at::kDouble) * 0.7 + phase).mul(0.3).view(parameter.sizes()));
    phase += 1.1;
  }
}

/// Rows [count, features] of rank `rank` in step `step`.
inline at::Tensor rows(int rank, int step, std::int64_t count = 3, std::int64_t features = 4) {
  const at::Tensor at = at::arange(count * features, at::kFloat).view({count, features});
  return at::cos(at * (0.1 + 0.07 * rank) + 0.5 * step);
}

/// Two layers, of which the second can be left out.
struct TwoLayersImpl : torch::nn::Module {
  TwoLayersImpl() : a(register_module("a", torch::nn::Linear(4, 3))), b(register_module("b", torch::nn::Linear(3, 2))) {
    fill(*this);
  }
  at::Tensor forward(const at::Tensor& x, bool use_b = true) {
    const at::Tensor hidden = at::tanh(a->forward(x));
    return use_b ? b->forward(hidden) : hidden;
  }

  torch::nn::Linear a{nullptr};
  torch::nn::Linear b{nullptr};
};
TORCH_MODULE(TwoLayers);

/// One parameter for each of two branches.
struct BranchesImpl : torch::nn::Module {
  BranchesImpl()
      : p(register_parameter("p", at::zeros({1}, at::requires_grad()))),
        q(register_parameter("q", at::zeros({1}, at::requires_grad()))) {}
  at::Tensor forward(double p_factor, double q_factor) {
    at::Tensor sum = at::zeros({1});
    if (p_factor != 0.0) sum = sum + p * p_factor;
    if (q_factor != 0.0) sum = sum + q * q_factor;
    return sum;
  }

  at::Tensor p;
  at::Tensor q;
};
TORCH_MODULE(Branches);

/// The world of a rank that is a thread of the test.
inline World world_of(Communicator& comm) { return World(comm, std::chrono::seconds(60)); }

inline at::Tensor loss_of(const at::Tensor& output) { return output.pow(2).mean(); }

/// Runs `body` on every rank of a world of `world_size`; nothing may be thrown.
inline void on_ranks(int world_size, const std::function<void(Communicator&)>& body) {
  EXPECT_EQ(run_ranks(world_size,
                      [&](Communicator& comm) {
                        ASSERT_EQ(comm.size(), world_size);
                        body(comm);
                      }),
            nothing_thrown(world_size));
}

}  // namespace samegrad::testing
